# Copyright 2026 The hier_nmt Authors.
# SPDX-License-Identifier: Apache-2.0
"""A Hub for tests, on the loopback interface and in memory: the part of its HTTP API that uploads and loads models.

It knows repositories of models and Spaces with branches and commits, LFS objects, users with tokens and private
repositories, and can stop in the middle of an upload. Clients are the real ones, started with `Hub.environment`. What
it does not know, it answers with 404 and notes in `Hub.unknown_requests`. There are whole servers for this API, but
they want a database and an object store, or the real Hub behind them.
"""

import base64
import hashlib
import json
import re
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import yaml

USER, TOKEN = "somebody", "hf_of_somebody"
OTHER_USER, OTHER_TOKEN = "another", "hf_of_another"
USERS = {TOKEN: USER, OTHER_TOKEN: OTHER_USER}

_LFS_SUFFIXES = (".safetensors", ".bin", ".pt")
_CARD_METADATA = re.compile(r"^---\n(.*?)\n---", re.DOTALL)


class Answer(Exception):
    """What ends the handling of a request: a status, a body and headers."""

    def __init__(self, status: int, body: Any = b"", **headers: str) -> None:
        self.status = status
        self.body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


@dataclass(frozen=True)
class Blob:
    """The content of a file."""

    content: bytes
    is_lfs: bool

    @property
    def git_id(self) -> str:
        return hashlib.sha1(b"blob %d\0" % len(self.content) + self.content).hexdigest()

    @property
    def etag(self) -> str:
        return hashlib.sha256(self.content).hexdigest() if self.is_lfs else self.git_id


@dataclass(frozen=True)
class Commit:
    """The files of a repository at one time."""

    commit_id: str
    title: str
    files: dict[str, Blob]


@dataclass
class Repository:
    """Branches of commits, the latest last; of a Space, what runs it."""

    private: bool
    branches: dict[str, list[Commit]]
    sdk: str | None = None

    def commit(self, revision: str) -> Commit:
        """The commit of a branch's end or of an id; Answer if there is none."""
        if revision in self.branches:
            return self.branches[revision][-1]
        for commits in self.branches.values():
            for commit in commits:
                if commit.commit_id == revision:
                    return commit
        raise Answer(404, {"error": "Revision Not Found"}, X_Error_Code="RevisionNotFound")


@dataclass
class Hub:
    """What the server holds, and what tests ask it.

    Attributes:
        repositories: by "user/name", those of Spaces by "spaces/user/name".
        lfs_objects: contents by their SHA-256.
        requests: (method, path) of all requests.
        unknown_requests: those that it did not know.
        uploads_go_on: unless it is set, the server waits in the middle of each upload.
        upload_is_half_way: set as soon as half of the present upload has arrived.
    """

    endpoint: str = ""
    repositories: dict[str, Repository] = field(default_factory=dict)
    lfs_objects: dict[str, bytes] = field(default_factory=dict)
    requests: list[tuple[str, str]] = field(default_factory=list)
    unknown_requests: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    uploads_go_on: threading.Event = field(default_factory=threading.Event)
    upload_is_half_way: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.uploads_go_on.set()

    def environment(self, token: str | None = TOKEN) -> dict[str, str]:
        """The environment variables by which a process uses this Hub, as the owner of a token or as nobody."""
        variables = {
            "HF_ENDPOINT": self.endpoint,
            "HF_HUB_DISABLE_XET": "1",
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "HF_HUB_DISABLE_PROGRESS_BARS": "1",
            "NO_PROXY": "127.0.0.1,localhost",
            "no_proxy": "127.0.0.1,localhost",
        }
        return variables if token is None else {**variables, "HF_TOKEN": token}

    def titles(self, repo_id: str, branch: str = "main") -> list[str]:
        """The titles of the commits of a branch, without the first one, which created the repository."""
        return [commit.title for commit in self.repositories[repo_id].branches[branch][1:]]

    def last_commit(self, repo_id: str) -> str:
        """The id of the last commit of the main branch."""
        return self.repositories[repo_id].commit("main").commit_id

    def files(self, repo_id: str, revision: str = "main") -> dict[str, bytes]:
        """The contents of the files by their paths."""
        return {path: blob.content for path, blob in self.repositories[repo_id].commit(revision).files.items()}

    def uploads(self) -> list[str]:
        """The SHA-256 of each LFS object that a client began to send, in order."""
        return [path.rpartition("/")[2] for method, path in self.requests if method == "PUT"]


class HubServer(ThreadingHTTPServer):
    """The server of a `Hub`; stops with the block that it is used in."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), HubRequestHandler)
        self.hub = Hub(f"http://127.0.0.1:{self.server_port}")

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Says nothing of a client that went away: some tests kill it."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def __enter__(self) -> "HubServer":
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *args: object) -> None:
        self.shutdown()
        self.server_close()


class HubRequestHandler(BaseHTTPRequestHandler):
    """Answers one request after another of a connection."""

    protocol_version = "HTTP/1.1"
    server: HubServer

    def log_message(self, *args: object) -> None:
        """Writes nothing."""

    def handle_request(self) -> None:
        """Answers the request by the first route whose pattern is its method and path."""
        url = urlsplit(self.path)
        self.query, path, hub = parse_qs(url.query), unquote(url.path), self.server.hub
        hub.requests.append((self.command, path))
        self._body: bytes | None = None
        method = "GET" if self.command == "HEAD" else self.command
        try:
            for pattern, route in ROUTES:
                match = re.fullmatch(pattern, f"{method} {path}")
                if match is not None:
                    route(self, hub, *match.groups())
            hub.unknown_requests.append(f"{self.command} {self.path}")
            raise Answer(404, {"error": "not known here"})
        except Answer as answer:
            self.body()
            self._send(answer)

    do_GET = do_HEAD = do_POST = do_PUT = handle_request

    def body(self, half_way: Callable[[], object] = lambda: None) -> bytes:
        """The body of the request, which must be read before it is answered; calls `half_way` with half of it here."""
        if self._body is None:
            length = int(self.headers.get("Content-Length") or 0)
            first_half = self.rfile.read(length // 2)
            half_way()
            self._body = first_half + self.rfile.read(length - length // 2)
        return self._body

    def json(self) -> Any:
        """The body of the request, read as JSON."""
        return json.loads(self.body() or b"{}")

    def user(self) -> str | None:
        """The user whose token the request carries, None without one; Answer if nobody has it."""
        token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
        if token and token not in USERS:
            message = "Invalid credentials in Authorization header"
            raise Answer(401, {"error": message}, X_Error_Message=message)
        return USERS.get(token)

    def readable(self, repo_id: str) -> Repository:
        """The repository, if the user may see it; Answer otherwise, the same whether it is private or not there."""
        user, repository = self.user(), self.server.hub.repositories.get(repo_id)
        if repository is not None and not (repository.private and owner_of(repo_id) != user):
            return repository
        message = "Repository not found" if user else "Invalid username or password."
        raise Answer(404 if user else 401, {"error": message}, X_Error_Code="RepoNotFound", X_Error_Message=message)

    def writable(self, repo_id: str) -> Repository:
        """The repository, if it is the user's own; Answer otherwise."""
        repository = self.readable(repo_id)
        self.check_owner(owner_of(repo_id))
        return repository

    def check_owner(self, owner: str) -> None:
        """Answer if the user is not this one."""
        user = self.user()
        if user != owner:
            message = f"{user or 'nobody'} may not write to {owner}"
            raise Answer(403 if user else 401, {"error": message}, X_Error_Message=message)

    def _send(self, answer: Answer) -> None:
        self.send_response(answer.status)
        headers = {"Content-Length": str(len(answer.body)), "Content-Type": "application/json", **answer.headers}
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)


def owner_of(repo_id: str) -> str:
    """The user whose repository it is."""
    return repo_id.split("/")[-2]


def who_am_i(request: HubRequestHandler, hub: Hub) -> None:
    user = request.user()
    if user is None:
        raise Answer(401, {"error": "no token"})
    raise Answer(200, {"type": "user", "name": user, "orgs": [], "auth": {"accessToken": {"role": "write"}}})


def validate_card(request: HubRequestHandler, hub: Hub) -> None:
    metadata = card_metadata(request.json()["content"])
    raise Answer(200, {"errors": [], "warnings": [] if metadata else [{"message": "empty metadata"}]})


def create_repository(request: HubRequestHandler, hub: Hub) -> None:
    given = request.json()
    owner = given.get("organization") or request.user()
    request.check_owner(str(owner))
    repo_id, sdk = f"{owner}/{given['name']}", given.get("sdk")
    if given.get("type") == "space":
        repo_id = f"spaces/{repo_id}"
        if sdk not in ("docker", "gradio", "static"):
            raise Answer(400, {"error": f"a Space needs an sdk, got {sdk}"})
    with hub.lock:
        is_new = repo_id not in hub.repositories
        if is_new:
            private = given.get("visibility") == "private" or bool(given.get("private"))
            hub.repositories[repo_id] = Repository(private, {"main": [Commit("0" * 40, "initial commit", {})]}, sdk)
    url = {"url": f"{hub.endpoint}/{repo_id}", "name": f"{owner}/{given['name']}"}
    raise Answer(200, url) if is_new else Answer(409, {**url, "error": "You already created this repo"})


def create_branch(request: HubRequestHandler, hub: Hub, repo_id: str, branch: str) -> None:
    repository, start = request.writable(repo_id), request.json().get("startingPoint", "main")
    if branch in repository.branches:
        raise Answer(409, {"error": "Reference already exists"})
    repository.branches[branch] = [repository.commit(start)]
    raise Answer(200, {})


def model_info(request: HubRequestHandler, hub: Hub, repo_id: str, revision: str | None) -> None:
    repository = request.readable(repo_id)
    commit = repository.commit(revision or "main")
    card = card_metadata(commit.files["README.md"].content.decode()) if "README.md" in commit.files else {}
    names = ("pipeline_tag", "library_name", "tags")
    name = repo_id.removeprefix("spaces/")
    info = {"id": name, "modelId": name, "sha": commit.commit_id, "private": repository.private}
    siblings = [{"rfilename": path} for path in sorted(commit.files)]
    raise Answer(
        200, {**info, "siblings": siblings, "cardData": card, **{name: card[name] for name in names if name in card}}
    )


def tree(request: HubRequestHandler, hub: Hub, repo_id: str, revision: str, folder: str | None) -> None:
    files, start = request.readable(repo_id).commit(revision).files, f"{folder}/" if folder else ""
    below = {path: blob for path, blob in files.items() if path.startswith(start)}
    if folder and not below:
        raise Answer(404, {"error": "Entry not found"}, X_Error_Code="EntryNotFound")
    if "true" in [value.lower() for value in request.query.get("recursive", [])]:
        raise Answer(200, [file_entry(path, blob) for path, blob in below.items()])
    entries = {}
    for path, blob in below.items():
        name, _, rest = path.removeprefix(start).partition("/")
        folder_entry = {"type": "directory", "path": start + name, "oid": "0" * 40, "size": 0}
        entries[name] = folder_entry if rest else file_entry(path, blob)
    raise Answer(200, list(entries.values()))


def paths_info(request: HubRequestHandler, hub: Hub, repo_id: str, revision: str) -> None:
    files, given = request.readable(repo_id).commit(revision).files, parse_qs(request.body().decode())
    raise Answer(200, [file_entry(path, files[path]) for path in given.get("paths", []) if path in files])


def preupload(request: HubRequestHandler, hub: Hub, repo_id: str, revision: str) -> None:
    files = request.writable(repo_id).commit(revision).files
    modes = [
        {
            "path": given["path"],
            "uploadMode": "lfs" if given["path"].endswith(_LFS_SUFFIXES) else "regular",
            "shouldIgnore": False,
            "oid": files[given["path"]].etag if given["path"] in files else None,
        }
        for given in request.json()["files"]
    ]
    raise Answer(200, {"files": modes, "commitOid": request.writable(repo_id).commit(revision).commit_id})


def lfs_batch(request: HubRequestHandler, hub: Hub, repo_id: str) -> None:
    request.writable(repo_id)
    objects = []
    for given in request.json()["objects"]:
        known = given["oid"] in hub.lfs_objects
        upload = {"href": f"{hub.endpoint}/lfs/{given['oid']}"}
        verify = {"href": f"{hub.endpoint}/{repo_id}.git/info/lfs/verify"}
        objects.append(given if known else {**given, "actions": {"upload": upload, "verify": verify}})
    raise Answer(200, {"transfer": "basic", "objects": objects})


def lfs_upload(request: HubRequestHandler, hub: Hub, sha256: str) -> None:
    def wait() -> None:
        hub.upload_is_half_way.set()
        hub.uploads_go_on.wait()

    content = request.body(half_way=wait)
    if hashlib.sha256(content).hexdigest() != sha256:
        raise Answer(400, {"error": "the content is not that of the object"})
    hub.lfs_objects[sha256] = content
    raise Answer(200)


def lfs_verify(request: HubRequestHandler, hub: Hub, repo_id: str) -> None:
    request.writable(repo_id)
    given = request.json()
    is_whole = len(hub.lfs_objects.get(given["oid"], b"")) == given["size"]
    raise Answer(200, {}) if is_whole else Answer(404, {"error": "no such object"})


def lfs_download(request: HubRequestHandler, hub: Hub, sha256: str) -> None:
    raise content_answer(request, hub.lfs_objects[sha256])


def make_commit(request: HubRequestHandler, hub: Hub, repo_id: str, branch: str) -> None:
    repository = request.writable(repo_id)
    operations = [json.loads(line) for line in request.body().splitlines()]
    with hub.lock:
        files = dict(repository.commit(branch).files)
        for operation in operations:
            apply_operation(files, operation["key"], operation["value"], hub.lfs_objects)
        number = sum(map(len, repository.branches.values()))
        commit_id = hashlib.sha1(f"{repo_id} {branch} {number}".encode()).hexdigest()
        repository.branches[branch].append(Commit(commit_id, operations[0]["value"]["summary"], files))
    url = f"{hub.endpoint}/{repo_id}/commit/{commit_id}"
    raise Answer(200, {"success": True, "commitOid": commit_id, "commitUrl": url, "pullRequestUrl": None})


def apply_operation(files: dict[str, Blob], key: str, value: dict[str, Any], lfs_objects: dict[str, bytes]) -> None:
    """Changes the files as one line of a commit says; Answer if its LFS object never arrived."""
    if key == "file":
        files[value["path"]] = Blob(base64.b64decode(value["content"]), is_lfs=False)
    elif key == "lfsFile":
        if value["oid"] not in lfs_objects:
            raise Answer(400, {"error": f"the LFS object of {value['path']} was not uploaded"})
        files[value["path"]] = Blob(lfs_objects[value["oid"]], is_lfs=True)
    elif key == "deletedFile":
        del files[value["path"]]
    elif key != "header":
        raise Answer(400, {"error": f"{key} is not known here"})


def resolve(request: HubRequestHandler, hub: Hub, repo_id: str, revision: str, path: str) -> None:
    commit = request.readable(repo_id).commit(revision)
    if path not in commit.files:
        headers = {"X_Error_Code": "EntryNotFound", "X_Repo_Commit": commit.commit_id}
        raise Answer(404, {"error": "Entry not found"}, **headers)
    blob = commit.files[path]
    headers = {"X_Repo_Commit": commit.commit_id, "ETag": f'"{blob.etag}"'}
    if not blob.is_lfs:
        raise content_answer(request, blob.content, **headers)
    linked = {"X_Linked_Etag": f'"{blob.etag}"', "X_Linked_Size": str(len(blob.content))}
    # Clients follow redirections within the Hub by themselves; those to where large files lie, they do only to load.
    elsewhere = hub.endpoint.replace("127.0.0.1", "localhost")
    raise Answer(302, Location=f"{elsewhere}/lfs/{blob.etag}", **headers, **linked)


def content_answer(request: HubRequestHandler, content: bytes, **headers: str) -> Answer:
    """The content, or the rest of it after the bytes that the client already has."""
    start = re.fullmatch(r"bytes=(\d+)-", request.headers.get("Range") or "")
    if start is None:
        return Answer(200, content, **headers)
    place = f"bytes {start[1]}-{len(content) - 1}/{len(content)}"
    return Answer(206, content[int(start[1]) :], Content_Range=place, **headers)


def file_entry(path: str, blob: Blob) -> dict[str, Any]:
    """A file in the listing of a folder."""
    size = len(blob.content)
    entry: dict[str, Any] = {"type": "file", "path": path, "size": size, "oid": blob.git_id}
    return {**entry, "lfs": {"oid": blob.etag, "size": size, "pointerSize": 130}} if blob.is_lfs else entry


def card_metadata(card: str) -> dict[str, Any]:
    """The metadata at the beginning of a card; nothing where there is none."""
    match = _CARD_METADATA.match(card)
    return (yaml.safe_load(match[1]) or {}) if match else {}


# Spaces are repositories whose names begin with "spaces/".
_REPOSITORY = r"/api/(?:models/|(?=spaces/))((?:spaces/)?[^/]+/[^/]+)"
_NAME = r"((?:spaces/)?[^/]+/[^/]+)"
ROUTES: list[tuple[str, Callable[..., None]]] = [
    (r"GET /api/whoami-v2", who_am_i),
    (r"POST /api/validate-yaml", validate_card),
    (r"POST /api/repos/create", create_repository),
    (rf"POST {_REPOSITORY}/branch/(.+)", create_branch),
    (rf"POST {_REPOSITORY}/preupload/(.+)", preupload),
    (rf"POST {_REPOSITORY}/commit/(.+)", make_commit),
    (rf"POST {_REPOSITORY}/paths-info/(.+)", paths_info),
    (rf"GET {_REPOSITORY}/tree/([^/]+)(?:/(.+))?", tree),
    (rf"GET {_REPOSITORY}(?:/revision/(.+))?", model_info),
    (rf"POST /{_NAME}\.git/info/lfs/objects/batch", lfs_batch),
    (rf"POST /{_NAME}\.git/info/lfs/verify", lfs_verify),
    (r"PUT /lfs/([0-9a-f]{64})", lfs_upload),
    (r"GET /lfs/([0-9a-f]{64})", lfs_download),
    (rf"GET /{_NAME}/resolve/([^/]+)/(.+)", resolve),
]
