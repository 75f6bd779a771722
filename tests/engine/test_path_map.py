"""Paths here and there: prefixes, both kinds of slashes, and every place of the wire in which a path stands."""

import pytest

from graphmend_lsp.engine.path_map import BadPathMapError, PathMap, parse_pair

POSIX = PathMap((("/home/me/proj", "/srv/proj"), ("/home/me/proj/data", "/mnt/data"), ("/home/me", "/root/me")))
OUT = PathMap((("C:\\Users\\me\\proj", "/srv/proj"),))
IN = PathMap((("/home/me/proj", "D:\\work\\proj"),))


@pytest.mark.parametrize(
    ("paths", "here", "there"),
    [
        (POSIX, "/home/me/proj/a/b.py", "/srv/proj/a/b.py"),
        (POSIX, "/home/me/proj", "/srv/proj"),
        (POSIX, "/home/me/proj/data/x.py", "/mnt/data/x.py"),  # the longest folder wins
        (POSIX, "/home/me/project/x.py", "/root/me/project/x.py"),  # whole names only
        (POSIX, "/usr/lib/x.py", "/usr/lib/x.py"),
        (POSIX, "<string>", "<string>"),
        (POSIX, "/home/me/proj/with space/ü.py", "/srv/proj/with space/ü.py"),
        (POSIX, "/home/me/proj/back\\slash.py", "/srv/proj/back\\slash.py"),
        (OUT, "C:\\Users\\me\\proj\\pkg\\m.py", "/srv/proj/pkg/m.py"),
        (OUT, "D:\\other\\m.py", "D:\\other\\m.py"),
        (IN, "/home/me/proj/pkg/m.py", "D:\\work\\proj\\pkg\\m.py"),
        (PathMap((("/", "/host"),)), "/etc/x.py", "/host/etc/x.py"),
        (PathMap((("/home/me/", "/srv/"),)), "/home/me/x.py", "/srv/x.py"),
        (PathMap((("/data", "Z:\\"),)), "/data/m.py", "Z:\\m.py"),
        (PathMap((("/home/me", "\\\\box\\me"),)), "/home/me/m.py", "\\\\box\\me\\m.py"),
        (PathMap(), "/home/me/x.py", "/home/me/x.py"),
    ],
)
def test_a_path_goes_there_and_comes_back(paths: PathMap, here: str, there: str) -> None:
    assert paths.there(here) == there
    assert paths.here(there) == here


@pytest.mark.parametrize("spelling", ["c:/users/ME/proj/m.py", "C:\\Users\\me\\proj/m.py"])
def test_windows_paths_are_known_in_any_case_and_slash(spelling: str) -> None:
    assert OUT.there(spelling) == "/srv/proj/m.py"


def test_the_root_maps_back() -> None:
    paths = PathMap((("/", "/host"),))
    assert paths.here("/host") == "/"
    assert paths.here("/host/etc") == "/etc"
    inside = PathMap((("/host", "/"),))
    assert inside.here("/etc/x.py") == "/host/etc/x.py"
    assert inside.here("") == ""
    assert inside.words_here("1 / 2 in /etc/x.py") == "1 / 2 in /etc/x.py"


PARAMS = {
    "entry": {"file": "/home/me/proj/m.py", "function": "/home/me/proj", "kind": "function"},
    "texts": {"/home/me/proj/m.py": "open('/home/me/proj/m.py')"},
    "sources": {"/home/me/proj/n.py": "x"},
    "roots": ["/home/me/proj", "/opt"],
    "device": "auto",
    "limits": {"seconds": 1.0, "memory_mb": None},
    "candidates": [
        {
            "id": "0",
            "texts": {"/home/me/proj/m.py": "y"},
            "conditions": [{"file": "/home/me/proj/m.py", "line": 1, "column": 0, "end_line": 1, "end_column": 2}],
            "changed": {"/home/me/proj/m.py": [[1, 2]]},
        }
    ],
}


def test_every_path_of_a_request_is_mapped_and_no_text() -> None:
    sent = POSIX.params_there(PARAMS)
    assert sent["entry"] == {"file": "/srv/proj/m.py", "function": "/home/me/proj", "kind": "function"}
    assert sent["texts"] == {"/srv/proj/m.py": "open('/home/me/proj/m.py')"}
    assert sent["sources"] == {"/srv/proj/n.py": "x"}
    assert sent["roots"] == ["/srv/proj", "/opt"]
    (candidate,) = sent["candidates"]
    assert list(candidate["texts"]) == list(candidate["changed"]) == ["/srv/proj/m.py"]
    assert candidate["conditions"][0]["file"] == "/srv/proj/m.py"
    assert POSIX.result_here(sent)["roots"] == PARAMS["roots"]
    assert PathMap().params_there(PARAMS) == PARAMS


def test_every_path_of_a_result_is_mapped_back_in_words_too() -> None:
    result = POSIX.result_here(
        {
            "events": [
                {
                    "frames": [{"file": "/srv/proj/m.py", "function": "f", "line": 3}],
                    "answers": [{"file": "/srv/proj/m.py"}],
                }
            ],
            "skipped": [{"file": "/srv/proj/n.py", "reason": "unsupported"}],
            "loaded": [{"file": "/srv/proj/n.py", "sha256": "00"}],
            "failure": {
                "message": "There is no file /srv/proj/gone.py.",
                "path": "/srv/proj/gone.py",
                "detail": 'File "/srv/proj/m.py", line 3\nFile "/opt/srv/proj/x.py" /srv/projects /srv/proj',
            },
        }
    )
    assert result["events"][0]["frames"][0]["file"] == "/home/me/proj/m.py"
    assert result["events"][0]["answers"] == [{"file": "/home/me/proj/m.py"}]
    assert result["skipped"][0]["file"] == result["loaded"][0]["file"] == "/home/me/proj/n.py"
    assert result["failure"]["path"] == "/home/me/proj/gone.py"
    assert result["failure"]["message"] == "There is no file /home/me/proj/gone.py."
    detail = result["failure"]["detail"]
    assert detail == 'File "/home/me/proj/m.py", line 3\nFile "/opt/srv/proj/x.py" /srv/projects /home/me/proj'


def test_windows_paths_in_words_are_mapped_back() -> None:
    assert IN.words_here('File "d:\\WORK\\proj\\m.py", line 2') == 'File "/home/me/proj/m.py", line 2'


@pytest.mark.parametrize("written", ["", "/a", "a=/b", "/a=b", "="])
def test_what_is_no_mapping_is_told(written: str) -> None:
    with pytest.raises(BadPathMapError, match="HERE=/FOLDER/THERE"):
        parse_pair(written)


def test_a_mapping_is_read() -> None:
    assert parse_pair("/a b=/c") == ("/a b", "/c")
    assert parse_pair("C:\\a=/c=d") == ("C:\\a", "/c=d")
