#!/usr/bin/env python3
"""Writes the tables of this directory from the published Kubernetes schemas.

    generate.py --old DIR --new DIR --kinds DIR

  --old    the folder `kubernetes-json-schema` of the sources of the Python package kubernetes-validate 1.21.0
  --new    the same folder of kubernetes-validate 1.37.0 (its wheel)
  --kinds  a folder with the sources of the Rust crate k8s-openapi in the versions 0.21.1, 0.24.0 and 0.29.0,
           which know what the definitions alone do not say: scope and plural

Both packages carry the Kubernetes project's own OpenAPI documents (Apache-2.0). The tables hold facts drawn from
them: names of types and fields, how lists merge, which kinds exist in which version.

kustomize 5.8.1 merges by Kubernetes v1.21.2. Its definitions equal those of v1.21.0 without the alpha versions and
without the kind EphemeralContainers, which is what `old` leaves out.
"""

import argparse
import json
import re
from pathlib import Path

MINORS = range(25, 38)
CRATE_OF_MINOR = {minor: "0.21.1" if minor <= 29 else "0.24.0" if minor <= 32 else "0.29.0" for minor in MINORS}

# Versions that were gone before the first minor of the table; people still write them, and a message that names
# the minor is worth the lines. Source: https://kubernetes.io/docs/reference/using-api/deprecation-guide/
LONG_GONE = """
extensions v1beta1 DaemonSet daemonsets namespaced 15
extensions v1beta1 Deployment deployments namespaced 15
extensions v1beta1 NetworkPolicy networkpolicies namespaced 15
extensions v1beta1 PodSecurityPolicy podsecuritypolicies cluster 15
extensions v1beta1 ReplicaSet replicasets namespaced 15
extensions v1beta1 Ingress ingresses namespaced 21
apps v1beta1 Deployment deployments namespaced 15
apps v1beta1 StatefulSet statefulsets namespaced 15
apps v1beta2 DaemonSet daemonsets namespaced 15
apps v1beta2 Deployment deployments namespaced 15
apps v1beta2 ReplicaSet replicasets namespaced 15
apps v1beta2 StatefulSet statefulsets namespaced 15
admissionregistration.k8s.io v1beta1 MutatingWebhookConfiguration mutatingwebhookconfigurations cluster 21
admissionregistration.k8s.io v1beta1 ValidatingWebhookConfiguration validatingwebhookconfigurations cluster 21
apiextensions.k8s.io v1beta1 CustomResourceDefinition customresourcedefinitions cluster 21
apiregistration.k8s.io v1beta1 APIService apiservices cluster 21
certificates.k8s.io v1beta1 CertificateSigningRequest certificatesigningrequests cluster 21
coordination.k8s.io v1beta1 Lease leases namespaced 21
networking.k8s.io v1beta1 Ingress ingresses namespaced 21
networking.k8s.io v1beta1 IngressClass ingressclasses cluster 21
rbac.authorization.k8s.io v1beta1 ClusterRole clusterroles cluster 21
rbac.authorization.k8s.io v1beta1 ClusterRoleBinding clusterrolebindings cluster 21
rbac.authorization.k8s.io v1beta1 Role roles namespaced 21
rbac.authorization.k8s.io v1beta1 RoleBinding rolebindings namespaced 21
scheduling.k8s.io v1beta1 PriorityClass priorityclasses cluster 21
storage.k8s.io v1beta1 CSIDriver csidrivers cluster 21
storage.k8s.io v1beta1 CSINode csinodes cluster 21
storage.k8s.io v1beta1 StorageClass storageclasses cluster 21
storage.k8s.io v1beta1 VolumeAttachment volumeattachments cluster 21
autoscaling v2beta1 HorizontalPodAutoscaler horizontalpodautoscalers namespaced 24
batch v1beta1 CronJob cronjobs namespaced 24
discovery.k8s.io v1beta1 EndpointSlice endpointslices namespaced 24
events.k8s.io v1beta1 Event events namespaced 24
node.k8s.io v1beta1 RuntimeClass runtimeclasses cluster 24
policy v1beta1 PodDisruptionBudget poddisruptionbudgets namespaced 24
policy v1beta1 PodSecurityPolicy podsecuritypolicies cluster 24
"""

# Beta versions that are served without being asked for. Newer ones are not: KEP-3136, beta APIs are off by default.
BETA_ON = {
    ("autoscaling", "v2beta2"),
    ("flowcontrol.apiserver.k8s.io", "v1beta1"),
    ("flowcontrol.apiserver.k8s.io", "v1beta2"),
    ("flowcontrol.apiserver.k8s.io", "v1beta3"),
}
BETA_ON_KINDS = {("storage.k8s.io", "v1beta1", "CSIStorageCapacity")}


def definitions(folder, version):
    text = json.loads((folder / f"{version}-local" / "_definitions.json").read_text())
    return text.get("$defs") or text["definitions"]


def is_a(schema, wanted):
    """Whether the schema is of that type; fields that may be absent are written `[type, null]`."""
    types = schema.get("type")
    return wanted in types if isinstance(types, list) else wanted == types


def kinds_of(definition):
    return [(k["group"], k["version"], k["kind"]) for k in definition.get("x-kubernetes-group-version-kind", [])]


def short(name):
    name = name.removeprefix("io.k8s.")
    for prefix in ("api.", "apimachinery.pkg.apis.", "apiextensions-apiserver.pkg.apis.", "kube-aggregator.pkg.apis."):
        name = name.removeprefix(prefix)
    return name


class Graph:
    """The types from which a list that merges can be reached, and the fields on the way."""

    def __init__(self, defs, with_list_types):
        self.defs = defs
        self.with_list_types = with_list_types
        self.worth = {}
        changed = True
        while changed:  # a fixpoint, since types refer to each other
            changed = False
            for name, definition in defs.items():
                if not self.worth.get(name) and self.is_worth(definition):
                    self.worth[name] = changed = True

    def marks(self, schema):
        marks = []
        if is_a(schema, "array"):
            strategies = schema.get("x-kubernetes-patch-strategy", "").split(",")
            if "merge" in strategies:
                listed = schema.get("x-kubernetes-list-map-keys")
                key = schema.get("x-kubernetes-patch-merge-key")
                marks.append("merge=" + ",".join(listed or ([key] if key else [])))
            if self.with_list_types:
                kind = schema.get("x-kubernetes-list-type")
                if kind == "map":
                    marks.append("map=" + ",".join(schema["x-kubernetes-list-map-keys"]))
                elif kind == "set":
                    marks.append("set")
        elif self.with_list_types and schema.get("x-kubernetes-map-type") == "atomic":
            marks.append("atomic")
        return marks

    def is_worth(self, schema):
        if self.marks(schema) or self.worth.get(self.target(schema)):
            return True
        parts = list(schema.get("properties", {}).values())
        parts += [schema[key] for key in ("items", "additionalProperties") if isinstance(schema.get(key), dict)]
        return any(self.is_worth(part) for part in parts)

    @staticmethod
    def target(schema):
        ref = schema.get("$ref")
        if not ref and len(schema.get("allOf", [])) == 1:
            ref = schema["allOf"][0].get("$ref")
        return ref.rsplit("/", 1)[1] if ref else None

    def shape(self, schema):
        """How the type of a field is written; None for a scalar."""
        target = self.target(schema)
        if target:
            definition = self.defs[target]
            if self.worth.get(target):
                return short(target)
            atomic = "!atomic" if "atomic" in self.marks(definition) + self.marks(schema) else ""
            return "-" + atomic if is_a(definition, "object") else None
        marks = "".join("!" + mark for mark in self.marks(schema))
        if is_a(schema, "array"):
            return "[]" + (self.shape(schema.get("items", {})) or "") + marks
        if is_a(schema, "object"):
            values = schema.get("additionalProperties")
            inner = isinstance(values, dict) and self.is_worth(values) and self.shape(values)
            return ("{}" + inner if inner else "-") + marks
        return None

    def lines(self, scopes):
        kinds, reached, queue = [], set(), []
        for name, definition in sorted(self.defs.items()):
            for group, version, kind in kinds_of(definition):
                if kind in ("DeleteOptions", "WatchEvent", "Status") or kind.endswith("List"):
                    continue
                api_version = f"{group}/{version}" if group else version
                kinds.append(" ".join(["kind", api_version, kind, short(name)] + scopes.get((group, kind), [])))
                queue.append(name)
        types = {}
        while queue:
            name = queue.pop()
            if name in reached:
                continue
            reached.add(name)
            fields = []
            for field, schema in sorted(self.defs[name].get("properties", {}).items()):
                shape = self.shape(schema)
                if shape is not None:
                    fields.append(f"{field}:{shape}")
                queue += [other for other in self.names_in(schema) if self.worth.get(other)]
            atomic = "".join("!" + mark for mark in self.marks(self.defs[name]))
            types[short(name)] = " ".join([f"type {short(name)}{atomic}"] + fields)
        return sorted(kinds) + [line for _, line in sorted(types.items())]

    def names_in(self, schema):
        target = self.target(schema)
        if target:
            yield target
        for key in ("items", "additionalProperties"):
            if isinstance(schema.get(key), dict):
                yield from self.names_in(schema[key])


SCALARS = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "quantity",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "int-or-string",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": "time",
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": "time",
}


def type_code(schema, defs):
    """How the type of a field is written in the table of field types."""
    target = Graph.target(schema)
    if target:
        if target in SCALARS:
            return SCALARS[target]
        return short(target) if defs[target].get("properties") else "any"
    if is_a(schema, "array"):
        return "[]" + type_code(schema.get("items", {}), defs)
    if isinstance(schema.get("additionalProperties"), dict):
        return "{}" + type_code(schema["additionalProperties"], defs)
    if is_a(schema, "string"):
        return {"byte": "base64", "date-time": "time"}.get(schema.get("format"), "string")
    for name in ("integer", "number", "boolean"):
        if is_a(schema, name):
            return name
    return "any"


def field_table(folder):
    """Every field of every kind with its type; `*` marks fields that must be there."""
    defs = definitions(folder, "v1.37.0")
    kinds, queue, types = [], [], {}
    for name, definition in sorted(defs.items()):
        for group, version, kind in kinds_of(definition):
            if kind in ("DeleteOptions", "WatchEvent", "Status") or kind.endswith("List"):
                continue
            kinds.append(f"kind {group}/{version}".replace(" /", " ") + f" {kind} {short(name)}")
            queue.append(name)
    while queue:
        name = queue.pop()
        if short(name) in types:
            continue
        definition = defs[name]
        fields = []
        for field, schema in sorted(definition.get("properties", {}).items()):
            mark = "*" if field in definition.get("required", []) else ""
            fields.append(f"{field}{mark}:{type_code(schema, defs)}")
            part = schema
            while True:
                target = Graph.target(part)
                if target:
                    if target not in SCALARS and defs[target].get("properties"):
                        queue.append(target)
                    break
                part = part.get("items") or part.get("additionalProperties")
                if not isinstance(part, dict):
                    break
        types[short(name)] = " ".join([f"type {short(name)}"] + fields)
    return sorted(kinds) + [line for _, line in sorted(types.items())]


def old_table(folder, scopes):
    defs = {
        name: definition
        for name, definition in definitions(folder, "v1.21.0").items()
        if not re.search(r"\.v\d+alpha\d+\.", name) and not name.endswith(".EphemeralContainers")
    }
    return Graph(defs, with_list_types=False).lines(scopes)


def new_table(folder, scopes):
    return Graph(definitions(folder, "v1.37.0"), with_list_types=True).lines(scopes)


def scopes_of(rows):
    """Scopes by group and kind, of the kinds whose objects can be read."""
    return {(row.split()[0].strip("-"), row.split()[2]): [row.split()[4]] for row in rows if "call" not in row}


def resources(folder, minor):
    found = {}
    for path in (folder / f"k8s-openapi-{CRATE_OF_MINOR[minor]}" / "src" / f"v1_{minor}").rglob("*.rs"):
        text = path.read_text()
        block = re.search(r"impl crate::Resource for \w+ \{(.*?)\n\}", text, re.S)
        if not block:
            continue
        constants = dict(re.findall(r"const (\w+): &'static str = \"(.*?)\"", block.group(1)))
        scope = re.search(r"type Scope = crate::(\w+)ResourceScope", block.group(1)).group(1)
        id_ = (constants["GROUP"], constants["VERSION"], constants["KIND"])
        found[id_] = (constants["URL_PATH_SEGMENT"], scope, "ListableResource for" in text)
    return found


def kinds_table(schemas, crates):
    minors, facts = {}, {}
    for minor in MINORS:
        known = resources(crates, minor)
        for definition in definitions(schemas, f"v1.{minor}.0").values():
            kinds = kinds_of(definition)
            if len(kinds) != 1 or kinds[0] not in known:
                continue
            plural, scope, listable = known[kinds[0]]
            if plural and scope != "Sub":
                minors.setdefault(kinds[0], []).append(minor)
                facts[kinds[0]] = (plural, "namespaced" if scope == "Namespace" else "cluster", listable)
    rows = []
    for (group, version, kind), seen in minors.items():
        assert seen == list(range(seen[0], seen[-1] + 1)), (group, version, kind, seen)
        plural, scope, listable = facts[group, version, kind]
        first = "" if seen[0] == MINORS[0] else seen[0]
        last = "" if seen[-1] == MINORS[-1] else seen[-1]
        on = re.fullmatch(r"v\d+", version) or (group, version) in BETA_ON or (group, version, kind) in BETA_ON_KINDS
        flags = [] if on else ["opt-in"]
        if not listable:
            flags.append("call")
        rows.append(" ".join([group or "-", version, kind, plural, scope, f"{first}..{last}"] + flags))
    for line in LONG_GONE.strip().splitlines():
        *fields, last = line.split()
        rows.append(" ".join(fields + [f"..{last}"]))
    return sorted(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--old", type=Path, required=True)
    parser.add_argument("--new", type=Path, required=True)
    parser.add_argument("--kinds", type=Path, required=True)
    options = parser.parse_args()
    here = Path(__file__).parent
    head = "# Generated by generate.py from Kubernetes' OpenAPI documents (Apache-2.0, the Kubernetes authors).\n"
    rows = kinds_table(options.new, options.kinds)
    scopes = scopes_of(rows)
    for name, lines in (
        ("kinds.txt", rows),
        ("v1_21.txt", old_table(options.old, scopes)),
        ("v1_37.txt", new_table(options.new, scopes)),
        ("fields_v1_37.txt", field_table(options.new)),
    ):
        (here / name).write_text(head + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
