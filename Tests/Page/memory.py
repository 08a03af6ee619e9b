"""Memory of processes, from /proc."""
import os


def of(process):
    """Returns the resident and the proportional megabytes (Rss, Pss) of a process."""
    values = {}
    with open("/proc/%d/smaps_rollup" % process) as file:
        for line in file:
            words = line.split()
            if len(words) == 3:
                values[words[0]] = int(words[1]) / 1000
    return {"resident": round(values["Rss:"]), "proportional": round(values["Pss:"])}


def of_page(browser):
    """Returns the megabytes of the largest renderer below a driver, as `of`."""
    parents, names = {}, {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % entry) as file:
                parents[int(entry)] = int(file.read().rsplit(")", 1)[1].split()[1])
            with open("/proc/%s/cmdline" % entry) as file:
                names[int(entry)] = file.read()
        except OSError:
            continue

    def is_below(process):
        while process in parents:
            if process == browser.service.process.pid:
                return True
            process = parents[process]
        return False

    renderers = [process for process, name in names.items() if "--type=renderer" in name and is_below(process)]
    return max(map(of, renderers), key=lambda sizes: sizes["resident"])
