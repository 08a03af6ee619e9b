// The kind of a file by its extension: chooses the icon and whether the page can show the file.
const extensions = {
    image: "png jpg jpeg gif webp avif svg bmp tif tiff heic ico",
    video: "mp4 m4v mkv webm mov avi mpg mpeg ts wmv flv ogv",
    audio: "mp3 m4a aac flac wav ogg oga opus wma aiff mid",
    document: "pdf doc docx odt rtf txt md epub mobi xls xlsx ods csv ppt pptx odp tex log",
    archive: "zip 7z rar tar gz tgz bz2 xz zst lz lz4 br cab jar",
    disc: "iso img dmg vhd vmdk qcow2 bin",
    program: "exe msi deb rpm apk appimage pkg flatpak snap run crx xpi",
    code: "js json xml html css py swift c h cpp rs go java sh yaml yml toml sql",
};
const kinds = new Map(Object.entries(extensions).flatMap(([kind, list]) => list.split(" ").map((extension) => [extension, kind])));
const text = new Set("txt md log csv json xml yaml yml toml ini conf sha256 sha512 md5 asc srt nfo".split(" "));

const extension = (name) => /\.([^.]+)$/.exec(name ?? "")?.[1].toLowerCase() ?? "";

export const kindOf = (name) => kinds.get(extension(name)) ?? "file";

/// "image", "video", "audio", "text", "pdf" where the page can show the finished file.
export function previewOf(name) {
    const last = extension(name);
    if (/^(png|jpe?g|gif|webp|avif|bmp|ico)$/.test(last)) return "image";
    if (/^(mp4|m4v|webm|ogv|mov)$/.test(last)) return "video";
    if (/^(mp3|m4a|aac|flac|wav|og[ga]|opus)$/.test(last)) return "audio";
    if (text.has(last)) return "text";
    return last === "pdf" ? "pdf" : null;
}
