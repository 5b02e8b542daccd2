"""Checks paths that an application may read in another way than the proxy, and paths that must pass."""

import re

# Each of these may be `/admin` to an application that decodes, normalizes or trims more than the proxy.
DISGUISED = ["/public/../admin", "/public/%2e%2e/admin", "/public/.%2E/admin", "//admin", "/public//../admin",
             "/public/..;/admin", "/public/..%3b/admin", "/public%3b/../admin", "/public/..%00/admin",
             "/public/;/../admin", "/public;/../admin", "/public%2f..%2fadmin", "/public/..%2fadmin",
             "/public/..%5cadmin", "/public/..\\admin", "/%61dmin", "/ADMIN", "/./admin",
             "/%2fadmin", "/admin%2f", "/admin;x", "/;/admin", "/public/%252e%252e/admin", "/public/..%252fadmin",
             "/public/../../admin", "/public/...//admin", "http://other/admin", "/public/..", "/public/.../admin",
             # These have overlong UTF-8, and bytes that a decoder may drop.
             "/public/%c0%ae%c0%ae/admin", "/public/%C0%AE./admin", "/public/%e0%80%ae%e0%80%ae/admin",
             "/public/%f0%80%80%ae./admin", "/public/\xc0\xae\xc0\xae/admin", "/public/%ff../admin",
             "/public/%80../admin", "/public/%c3../admin", "/public/%ed%a0%80../admin", "/public/%f4%90%80%80../admin",
             # These have percent signs that begin no percent-encoding.
             "/public/%u002e%u002e/admin", "/public/%u002e./admin", "/public/%/../admin", "/public/%", "/public/%2",
             "/public/%zz/admin", "/public/%..%/admin",
             # These have blanks that an application may trim.
             "/public/..%20/admin", "/public/.%20./admin", "/public/.%20/admin", "/public/%20../admin",
             "/public/..%09/admin", "/public/%0d%0a../admin", "/public/..%7f/admin", "/%20admin", "/%20/admin",
             "/public/x#/../admin", "/public/..#/admin", "/public/..%23/admin",
             # Only `/public/` needs no credentials, and these are spelled differently.
             "/PUBLIC/x", "/Public/../admin", "/pub%6cic/../admin", "/publi\u212a/x".encode().decode("latin-1")]
PLAIN = ["/public/", "/public/x.html", "/public/.well-known/x", "/public/a%20b", "/public/%D0%9F%D1%80/%D0%B8",
         "/public/%E2%82%AC", "/public/%ED%95%9C", "/public/%F0%9F%98%80", "/public/%5Bslug%5D/x",
         "/public/a+b,c=d@e:f~g!$&'()*-_", "/public/J.R.R.%20Tolkien", "/public/a%2Cb%3Ac%40d%22", "/public/v1.",
         "/public/a..b", "/public/x?", "/public/x?q=%zz//../%2e%00", "/public/x/?a=/../b",
         "/public/" + "a" * 7000, "/public/" + "%D0%9F" * 1100, "/public/" + "a%20/" * 1400]


def lenient(path):
    """Returns the path as the most lenient application reads it."""
    path = re.sub("%u00([0-9a-f]{2})", "%\\1", path, flags=re.I)
    for _ in range(3):
        path = re.sub("%([0-9a-f]{2})", lambda it: chr(int(it[1], 16)), path, flags=re.I)
    path = re.sub("\xc0\xae|\xe0\x80\xae|\xf0\x80\x80\xae", ".", path)
    path = "".join(it for it in path if " " <= it < "\x7f")
    path = re.sub(";[^/]*", "", re.split("[?#]", path)[0].replace("\\", "/")).lower()
    parts = []
    for part in (it.strip(" %") for it in path.split("/")):
        if part.startswith("..") and not part.strip(". "):
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return "/" + "/".join(parts)


def disguised_paths(proxy, ann):
    for path in DISGUISED:
        for headers, allowed in (([], ["/public"]), ([ann.bearer], ["/public", "/"])):
            response = proxy.ask(path, *headers)
            if response.seen is None:
                assert response.status >= 300, (proxy.name, path, response.status)
                continue
            top = "/" + lenient(response.seen["path"]).split("/")[1]
            what = (proxy.name, path, response.seen["path"], bool(headers))
            assert top != "/admin" and (top in allowed or "/" in allowed), what
            assert headers or response.seen["path"].startswith("/public/"), what


def plain_paths(proxy, ann):
    for path in PLAIN:
        for sent, headers, identity in ((path, [], None), (path.removeprefix("/public"), [ann.bearer], ann.identity)):
            response = proxy.expect(200, sent, *headers, identity=identity)
            # A "?" without a query may be dropped.
            assert response.seen["path"].rstrip("?") == sent.rstrip("?"), (proxy.name, sent, response.seen["path"])
