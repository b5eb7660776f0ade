#!/usr/bin/env python3
"""files_test.py ROOT [--damper BIN]: checks packaging/ against the tree and the tools.

A proxy is started, gets some requests and is scraped, and so is a webhook dispatcher: every metric
of the dashboards and of the alerts, with its labels, must be in their pages. The alerts have tests
that promtool runs; units pass systemd-analyze; the policies in YAML files load.
Checks whose tool is not installed are skipped, except promtool's.
"""

import argparse
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import yaml

ROOT = DAMPER = None
HISTOGRAM = ("_bucket", "_sum", "_count")
MOST_EXPOSED = 20  # of 100, as systemd-analyze counts: 2.0


def path(*parts):
    return os.path.join(ROOT, "packaging", *parts)


def read(*parts):
    with open(path(*parts), encoding="utf-8") as file:
        return file.read()


def run(*command, **options):
    return subprocess.run(command, text=True, capture_output=True, timeout=60, check=False,
                          **options)


# With all optional features, so that every family is exported.
EVERYTHING = """
listeners: { main: { address: "127.0.0.1:0" } }
clusters: { app: { endpoints: ["http://127.0.0.1:BACKEND"] } }
routes:
  all:
    match: { prefix: / }
    circuit_breaker: on
    concurrency_limit: on
    client_throttle: on
    attempt_rate_limit: on
    admission_control: { kind: fixed, initial: 1, max: 1, queue_capacity: 1 }
    timeout: 300ms
admin: { address: "127.0.0.1:0" }
threads: 1
"""
# Families of a proxy with etcd, or one that has dropped series, with their labels.
ELSEWHERE = {"damper_control_connected": {},
             "damper_metrics_dropped_series_total": {"family": None}}
# Labels that Prometheus adds, and that of a histogram's buckets.
GIVEN = {"instance", "job", "le"}


def fetch(url):
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return answer.read().decode()
    except urllib.error.HTTPError as error:  # Also a response.
        with error:
            return error.read().decode()


def scrape():
    """The metrics page of an overloaded proxy."""
    with (tempfile.NamedTemporaryFile("w", suffix=".yaml") as file,
          socket.create_server(("127.0.0.1", 0)) as backend):  # It never responds.
        file.write(EVERYTHING.replace("BACKEND", str(backend.getsockname()[1])))
        file.flush()
        with subprocess.Popen([DAMPER, "proxy", "-c", file.name], text=True,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as proxy:
            watchdog = threading.Timer(20, proxy.kill)
            watchdog.start()
            try:
                places = {}
                for line in proxy.stderr:
                    place = re.search(r"(listens|admin) .*?(127\.0\.0\.1:\d+)", line)
                    if place:
                        places[place.group(1)] = place.group(2)
                    if len(places) == 2:
                        break
                with ThreadPoolExecutor(4) as pool:  # One runs, one is queued.
                    list(pool.map(fetch, 4 * [f"http://{places['listens']}/"]))
                return fetch(f"http://{places['admin']}/metrics")
            finally:
                proxy.kill()
                proxy.stderr.close()
                watchdog.cancel()


def scrape_dispatcher():
    """The metrics page of a webhook dispatcher."""
    with tempfile.TemporaryDirectory() as folder:
        command = [DAMPER, "webhooks", "serve", "--listen", "127.0.0.1:0",
                   "--store", os.path.join(folder, "webhooks.db")]
        with subprocess.Popen(command, text=True, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE) as dispatcher:
            watchdog = threading.Timer(20, dispatcher.kill)
            watchdog.start()
            try:
                place = re.search(r"serving on (http://127\.0\.0\.1:\d+)",
                                  dispatcher.stderr.readline())
                return fetch(f"{place.group(1)}/metrics")
            finally:
                dispatcher.kill()
                dispatcher.stderr.close()
                watchdog.cancel()


def shown_in(page):
    """{family: {label: {value}}} of a page in the text format."""
    found = {name: {} for name in re.findall(r"^# TYPE (\S+)", page, re.MULTILINE)}
    for name, labels in re.findall(r"^([a-z_]+)(?:\{(.*)\})? ", page, re.MULTILINE):
        family = family_of(name, found)
        for label, value in re.findall(r'(\w+)="([^"]*)"', labels):
            found[family].setdefault(label, set()).add(value)
    return found


def family_of(name, families):
    for ending in HISTOGRAM:
        if name not in families and name.endswith(ending):
            return name.removesuffix(ending)
    return name


def wrong_in(query, families):
    """The metrics and labels of a PromQL text that no proxy exports, one sentence each."""
    labels_of_all = set(GIVEN)
    for name, matchers in re.findall(r"\b(damper_[a-z0-9_]+)(?:\{([^}]*)\})?", query):
        labels = families.get(family_of(name, families))
        if labels is None:
            yield f"no family {name}: {query}"
            continue
        labels_of_all |= set(labels)
        for label, how, value in re.findall(r'(\w+)(!?=~?)"([^"]*)"', matchers):
            if label not in GIVEN and label not in labels:
                yield f"{name} has no label {label}: {query}"
            elif label in CLOSED and labels.get(label) and how in ("=", "!=", "=~"):
                for word in set(value.split("|")) - labels[label]:
                    yield f"{name} never has {label}={word}: {query}"
    for names in re.findall(r"\bby \(([^)]*)\)", query):
        for label in {one.strip() for one in names.split(",")} - labels_of_all:
            yield f"nothing has the label {label}: {query}"


# Labels whose values are all exported: as 0, or provoked by scrape().
CLOSED = {"event", "verdict", "state", "switch", "result", "outcome", "what"}
DASHBOARDS = {"damper-proxy.json": 15, "damper-webhooks.json": 12}  # least number of queries
RULES = ("damper.rules", "damper-webhooks.rules")


def values_of(node, key):
    """Everything under this key, at any depth."""
    if isinstance(node, dict):
        for name, value in node.items():
            if name == key:
                yield value
            yield from values_of(value, key)
    elif isinstance(node, list):
        for value in node:
            yield from values_of(value, key)


class Packaging(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.pages = [scrape(), scrape_dispatcher()]
        cls.families = {**ELSEWHERE}
        for page in cls.pages:
            for family, labels in shown_in(page).items():
                known = cls.families.setdefault(family, {})
                for label, values in labels.items():
                    known[label] = (known.get(label) or set()) | values

    def assert_shown(self, queries):
        wrong = [sentence for query in queries for sentence in wrong_in(query, self.families)]
        self.assertEqual(wrong, [])

    def test_promtool_accepts_the_page(self):
        for page in self.pages:
            said = run("promtool", "check", "metrics", input=page)
            self.assertEqual((said.returncode, said.stdout), (0, ""), said.stderr)

    def test_the_dashboard_shows_metrics_that_exist(self):
        for name, least in DASHBOARDS.items():
            dashboard = json.loads(read("grafana", name))
            queries = [*values_of(dashboard, "expr"), *values_of(dashboard, "query")]
            self.assertGreater(len(queries), least)
            self.assert_shown(queries)
            identities = [panel["id"] for panel in dashboard["panels"]]
            self.assertEqual(len(identities), len(set(identities)))

    def test_the_dashboards_queries_are_promql(self):
        queries = [query for name in DASHBOARDS
                   for query in values_of(json.loads(read("grafana", name)), "expr")]
        rules = [{"record": f"q{number}", "expr": query.replace("$__rate_interval", "1m")}
                 for number, query in enumerate(queries)]
        with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
            yaml.safe_dump({"groups": [{"name": "queries", "rules": rules}]}, file)
            file.flush()
            said = run("promtool", "check", "rules", file.name)
        self.assertEqual(said.returncode, 0, said.stdout + said.stderr)

    def test_the_alerts_watch_metrics_that_exist(self):
        for name in RULES:
            rules = yaml.safe_load(read("prometheus", f"{name}.yml"))
            self.assert_shown(values_of(rules, "expr"))

    def test_what_no_proxy_shows_is_found(self):
        for query, wrong in (("damper_nope > 0", "no family damper_nope"),
                             ('damper_calls_total{route="a"}', "no label route"),
                             ("sum by (route) (damper_calls_total)", "the label route"),
                             ('damper_switch_off{switch="nope"}', "never has switch=nope"),
                             ('damper_webhooks_held{what="nope"}', "never has what=nope")):
            found = list(wrong_in(query, self.families))
            self.assertEqual(len(found), 1, found)
            self.assertIn(wrong, found[0])

    def test_each_alert_has_a_test_and_passes_it(self):
        for name in RULES:
            rules = yaml.safe_load(read("prometheus", f"{name}.yml"))
            tests = yaml.safe_load(read("prometheus", f"{name}.test.yml"))
            fired = {case["alertname"] for cases in values_of(tests, "alert_rule_test")
                     for case in cases if case["exp_alerts"]}
            self.assertEqual(set(values_of(rules, "alert")), fired)
            for command in (("check", "rules", f"{name}.yml"),
                            ("test", "rules", f"{name}.test.yml")):
                said = run("promtool", *command, cwd=path("prometheus"))
                self.assertEqual(said.returncode, 0, said.stdout + said.stderr)

    def test_the_units_are_well_formed_and_tight(self):
        if not shutil.which("systemd-analyze"):
            self.skipTest("no systemd-analyze here")
        with tempfile.TemporaryDirectory() as folder:
            units = ("damper.service", "damper.socket", "damper-webhooks.service")
            for unit in units:
                with open(os.path.join(folder, unit), "w", encoding="utf-8") as file:
                    # It checks for the program, which is there after the installation.
                    file.write(read("systemd", unit).replace("/usr/bin/damper", "/bin/true"))
            files = [os.path.join(folder, unit) for unit in units]
            said = run("systemd-analyze", "verify", "--man=no", *files)
            self.assertEqual((said.returncode, said.stderr), (0, ""))
            for service in (file for file in files if file.endswith(".service")):
                said = run("systemd-analyze", "security", "--no-pager", "--offline=true",
                           f"--threshold={MOST_EXPOSED}", service)
                self.assertEqual(said.returncode, 0, said.stdout[-200:] + said.stderr)

    def test_the_sockets_name_is_a_listener_of_the_shipped_file(self):
        name = re.search(r"FileDescriptorName=(\S+)", read("systemd", "damper.socket")).group(1)
        config = yaml.safe_load(read("config", "damper.yaml"))
        listener = config["listeners"][name]
        self.assertIn(f"ListenStream={listener['address']}\n", read("systemd", "damper.socket"))

    def test_nothing_that_is_shipped_listens_to_the_world_unasked(self):
        config = yaml.safe_load(read("config", "damper.yaml"))
        listeners = [*config["listeners"].values(), config["admin"]]
        hosts = {listener["address"].rpartition(":")[0] for listener in listeners}
        self.assertEqual(hosts, {"127.0.0.1"})
        webhooks = yaml.safe_load(read("config", "webhooks.yaml"))
        self.assertEqual(webhooks["listen"].rpartition(":")[0], "127.0.0.1")
        self.assertNotIn("allow", webhooks["egress"])

    def validate(self, text, *program):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(text)
            file.flush()
            return run(DAMPER, *(program or ("proxy",)), "--validate", "-c", file.name)

    def test_the_dispatchers_files_that_are_shipped_load(self):
        for text in (self.fleet()[0]["data"]["webhooks.yaml"], read("config", "webhooks.yaml")):
            said = self.validate(text, "webhooks", "serve")
            self.assertEqual(said.returncode, 0, said.stdout + said.stderr)

    def test_the_dispatchers_unit_and_its_file_name_the_same_folder(self):
        unit = read("systemd", "damper-webhooks.service")
        folder = re.search(r"StateDirectory=(\S+)", unit).group(1)
        config = yaml.safe_load(read("config", "webhooks.yaml"))
        self.assertEqual(os.path.dirname(config["store"]), f"/var/lib/{folder}")
        self.assertIn(f"WorkingDirectory=/var/lib/{folder}\n", unit)

    def fleet(self):
        return list(yaml.safe_load_all(read("kubernetes", "webhooks.yaml")))

    def test_the_fleets_ports_probes_and_secrets_fit(self):
        config, deployment, budget, service, database, stateful = self.fleet()
        policy = yaml.safe_load(config["data"]["webhooks.yaml"])
        pod = deployment["spec"]["template"]["spec"]
        dispatcher = pod["containers"][0]
        port = dispatcher["ports"][0]["containerPort"]
        self.assertEqual(policy["listen"], f"0.0.0.0:{port}")
        self.assertEqual({probe["path"] for probe in values_of(dispatcher, "httpGet")},
                         {"/healthz"})
        self.assertEqual(service["spec"]["ports"][0]["port"], port)
        mounts = {mount["name"]: mount["mountPath"] for mount in dispatcher["volumeMounts"]}
        self.assertEqual(set(mounts), {volume["name"] for volume in pod["volumes"]})
        self.assertEqual(os.path.dirname(policy["token_file"]), mounts["tokens"])
        labels = deployment["spec"]["template"]["metadata"]["labels"]
        for selector in (service["spec"]["selector"], budget["spec"]["selector"]["matchLabels"],
                         deployment["spec"]["selector"]["matchLabels"]):
            self.assertEqual(selector, labels)
        url = dispatcher["args"][-1]
        user = {one["name"]: one.get("value") for one in
                stateful["spec"]["template"]["spec"]["containers"][0]["env"]}
        self.assertEqual(url, f"postgres://{user['POSTGRES_USER']}@"
                              f"{database['metadata']['name']}/{user['POSTGRES_DB']}")
        security = dispatcher["securityContext"]
        self.assertFalse(security["allowPrivilegeEscalation"])
        self.assertTrue(security["readOnlyRootFilesystem"])
        self.assertGreater(pod["terminationGracePeriodSeconds"],
                           int(policy["drain_time"].rstrip("s")) + 5)

    def test_the_policies_that_are_shipped_load(self):
        manifests = list(yaml.safe_load_all(read("kubernetes", "sidecar.yaml")))
        policies = [text for data in values_of(manifests, "data") for text in data.values()]
        self.assertEqual(len(policies), 1)
        for text in (*policies, read("config", "damper.yaml")):
            said = self.validate(text)
            self.assertEqual(said.returncode, 0, said.stdout + said.stderr)

    def test_the_sidecars_ports_and_probes_fit_its_policy(self):
        config, deployment, service = yaml.safe_load_all(read("kubernetes", "sidecar.yaml"))
        policy = yaml.safe_load(config["data"]["damper.yaml"])
        pod = deployment["spec"]["template"]["spec"]
        sidecar = next(one for one in pod["containers"] if one["name"] == "damper")
        ports = {port["name"]: port["containerPort"] for port in sidecar["ports"]}
        self.assertEqual(policy["admin"]["address"], f"0.0.0.0:{ports['admin']}")
        self.assertEqual(policy["listeners"]["out"]["address"].split(":")[0], "127.0.0.1")
        probes = {probe["path"] for probe in values_of(sidecar, "httpGet")}
        self.assertEqual(probes, {"/healthz", "/readyz"})
        seconds = sum(int(policy[key].rstrip("s")) for key in ("drain_delay", "drain_time"))
        self.assertGreater(pod["terminationGracePeriodSeconds"], seconds)
        self.assertEqual(service["spec"]["ports"][0]["targetPort"], "http")
        mounted = {mount["name"] for mount in sidecar["volumeMounts"]}
        self.assertEqual(mounted, {volume["name"] for volume in pod["volumes"]})
        security = sidecar["securityContext"]
        self.assertFalse(security["allowPrivilegeEscalation"])
        self.assertTrue(security["readOnlyRootFilesystem"])
        self.assertTrue(pod["securityContext"]["runAsNonRoot"])

    def test_the_image_is_built_from_what_is_in_the_tree(self):
        text = read("container", "Containerfile")
        for source in re.findall(r"^COPY (?!--from)(\S+) ", text, re.MULTILINE):
            self.assertTrue(os.path.exists(os.path.join(ROOT, source)), source)
        self.assertRegex(text, r"(?m)^USER [1-9]\d*:[1-9]\d*$")


def main():
    global ROOT, DAMPER
    parser = argparse.ArgumentParser()
    parser.add_argument("root")
    parser.add_argument("--damper", required=True)
    arguments = parser.parse_args()
    ROOT, DAMPER = os.path.abspath(arguments.root), os.path.abspath(arguments.damper)
    unittest.main(argv=[sys.argv[0]])


if __name__ == "__main__":
    main()
