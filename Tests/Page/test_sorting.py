"""Orders of the list that the page makes itself."""
from rig import big, until


def test_the_running_downloads_are_sorted_by_speed_and_by_time_left(page, api, source):
    rates = {"slow.bin": 20_000, "fast.bin": 400_000, "middle.bin": 120_000}
    for name, rate in rates.items():
        # The fast one has the longest way to go.
        api.add(big(source, name, rate=rate, size=2_000_000_000 if name == "fast.bin" else 40_000_000))
        api("PATCH", "downloads/" + api.row(name)["id"], {"bytesPerSecond": rate})
    page.open()
    assert "Fastest first" not in page.find("#sort").text
    page.list("Active")
    page.find("#sort").send_keys("Fastest first")
    until(lambda: page.names() == ["fast.bin", "middle.bin", "slow.bin"], "by speed")
    served = lambda **query: [row["name"] for row in api.rows(state="transferring", **query)]
    until(lambda: served(sort="speed", order="desc") == page.names(), "the daemon has the same order")
    api("PATCH", "downloads/" + api.row("fast.bin")["id"], {"bytesPerSecond": 50_000})
    until(lambda: page.names() == ["middle.bin", "fast.bin", "slow.bin"], "a change of speed changes the order")
    page.find("#sort").send_keys("Least time left first")
    until(lambda: page.names() == ["middle.bin", "slow.bin", "fast.bin"], "by time left")
    until(lambda: served(sort="left") == page.names(), "the daemon has the same order of times")
