// Package knowledge reads as much of firstpass's knowledge files as the operator
// stand-in follows. docs/knowledge.md of the project describes the format.
package knowledge

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// Knowledge is what is known of operators and kinds.
type Knowledge struct {
	Operators []*Operator
	kinds     []*Kind
}

// An Operator is a controller that runs in a workload.
type Operator struct {
	Name      string   `json:"name"`
	Images    []string `json:"images"`
	Workloads []string `json:"workloads"`
	AtStart   []Effect `json:"at_start"`
	OnObject  []struct {
		Kind    string   `json:"kind"`
		Effects []Effect `json:"effects"`
	} `json:"on_object"`
}

// An Effect is what an operator brings, after a delay.
type Effect struct {
	After        string   `json:"after"`
	BeforeStatus string   `json:"before_status"`
	Kinds        []string `json:"kinds"`
	Objects      []struct {
		ForEach  string         `json:"for_each"`
		Manifest map[string]any `json:"manifest"`
	} `json:"objects"`
	Workloads []Workload `json:"workloads"`
}

// A Workload is what an operator starts.
type Workload struct {
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
}

// Manifest is the workload as an object; namespace is the operator's own.
func (w Workload) Manifest(namespace string) map[string]any {
	if w.Namespace != "" {
		namespace = w.Namespace
	}
	labels := map[string]any{"app": w.Name}
	return map[string]any{
		"apiVersion": "apps/v1", "kind": w.Kind,
		"metadata": map[string]any{"name": w.Name, "namespace": namespace},
		"spec": map[string]any{
			"selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{
				"metadata": map[string]any{"labels": labels},
				"spec": map[string]any{"containers": []any{
					map[string]any{"name": "main", "image": "registry.example.com/" + w.Name + ":1"},
				}},
			},
		},
	}
}

// A Kind is a custom kind, and what its controller reports.
type Kind struct {
	Group, Name, Controller string
	Plural                  string
	Cluster                 bool
	Versions                []string
	Status                  []Write
}

// A Write is one write of a status.
type Write struct {
	After string         `json:"after"`
	Name  string         `json:"name"`
	Set   map[string]any `json:"set"`
}

type file struct {
	Operators []*Operator `json:"operators"`
	Kinds     []struct {
		Group      string `json:"group"`
		Versions   []any  `json:"versions"`
		Controller string `json:"controller"`
		Scope      string `json:"scope"`
		Kinds      map[string]*struct {
			Scope      string  `json:"scope"`
			Plural     string  `json:"plural"`
			Controller string  `json:"controller"`
			Versions   []any   `json:"versions"`
			Status     []Write `json:"status"`
			Ready      *struct {
				After              string `json:"after"`
				PendingAfter       string `json:"pending_after"`
				ObservedGeneration bool   `json:"observed_generation"`
				Reason             string `json:"reason"`
			} `json:"ready"`
		} `json:"kinds"`
	} `json:"kinds"`
}

// Read takes in files, one text each.
func Read(texts ...string) (*Knowledge, error) {
	known := &Knowledge{}
	for _, text := range texts {
		var read file
		if err := yaml.Unmarshal([]byte(text), &read); err != nil {
			return nil, fmt.Errorf("knowledge: %w", err)
		}
		known.Operators = append(known.Operators, read.Operators...)
		for _, group := range read.Kinds {
			for name, def := range group.Kinds {
				kind := &Kind{Group: group.Group, Name: name, Controller: group.Controller, Cluster: group.Scope == "Cluster"}
				versions := group.Versions
				if def != nil {
					if def.Scope != "" {
						kind.Cluster = def.Scope == "Cluster"
					}
					if def.Controller != "" {
						kind.Controller = def.Controller
					}
					if def.Versions != nil {
						versions = def.Versions
					}
					kind.Plural, kind.Status = def.Plural, def.Status
					if def.Ready != nil {
						kind.Status = readyWrites(def.Ready.After, def.Ready.PendingAfter, def.Ready.Reason, def.Ready.ObservedGeneration)
					}
				}
				for _, version := range versions {
					switch version := version.(type) {
					case string:
						kind.Versions = append(kind.Versions, version)
					case map[string]any:
						if version["until"] == nil {
							name, _ := version["name"].(string)
							kind.Versions = append(kind.Versions, name)
						}
					}
				}
				known.kinds = append(known.kinds, kind)
			}
		}
	}
	slices.SortFunc(known.kinds, func(a, b *Kind) int {
		return strings.Compare(a.Group+"/"+a.Name, b.Group+"/"+b.Name)
	})
	return known, nil
}

func readyWrites(after, pendingAfter, reason string, observed bool) []Write {
	write := func(after, status string) Write {
		ready := map[string]any{"type": "Ready", "status": status, "lastTransitionTime": "{now}"}
		if reason != "" {
			ready["reason"] = reason
		} else {
			ready["reason"] = "Ready"
		}
		set := map[string]any{"conditions": []any{ready}}
		if observed {
			set["observedGeneration"] = "{object.metadata.generation}"
		}
		return Write{After: after, Set: set}
	}
	var writes []Write
	if pendingAfter != "" {
		writes = append(writes, write(pendingAfter, "False"))
	}
	return append(writes, write(after, "True"))
}

// RunsIn says whether a workload is the operator's.
func (o *Operator) RunsIn(workload string, images []string) bool {
	if slices.Contains(o.Workloads, workload) {
		return true
	}
	return slices.ContainsFunc(images, func(image string) bool {
		if at := strings.LastIndexAny(image, ":@"); at > strings.LastIndex(image, "/") {
			image = image[:at]
		}
		return slices.ContainsFunc(o.Images, func(known string) bool {
			return image == known || strings.HasSuffix(image, "/"+known)
		})
	})
}

// EffectsOf are the effects of reconciling an object of a kind.
func (o *Operator) EffectsOf(kind schema.GroupKind) []Effect {
	var effects []Effect
	for _, rule := range o.OnObject {
		if rule.Kind == kind.Group+"/"+kind.Kind {
			effects = append(effects, rule.Effects...)
		}
	}
	return effects
}

// KindsOf are the kinds that an operator looks at.
func (k *Knowledge) KindsOf(operator *Operator) []*Kind {
	var found []*Kind
	for _, kind := range k.kinds {
		if kind.Controller == operator.Name && len(kind.Status) > 0 || len(operator.EffectsOf(kind.GroupKind())) > 0 {
			found = append(found, kind)
		}
	}
	return found
}

// KindsMatching are the kinds that "group/Kind" or "group/*" names.
func (k *Knowledge) KindsMatching(name string) []*Kind {
	var found []*Kind
	for _, kind := range k.kinds {
		if name == kind.Group+"/"+kind.Name || name == kind.Group+"/*" {
			found = append(found, kind)
		}
	}
	return found
}

// GroupKind is the kind's name.
func (k *Kind) GroupKind() schema.GroupKind {
	return schema.GroupKind{Group: k.Group, Kind: k.Name}
}

// CRD is a definition that accepts any object of the kind.
func (k *Kind) CRD() map[string]any {
	plural := k.Plural
	if plural == "" {
		plural = pluralOf(strings.ToLower(k.Name))
	}
	scope := "Namespaced"
	if k.Cluster {
		scope = "Cluster"
	}
	var versions []any
	for index, version := range k.Versions {
		versions = append(versions, map[string]any{
			"name": version, "served": true, "storage": index == 0,
			"schema": map[string]any{"openAPIV3Schema": map[string]any{
				"type": "object", "x-kubernetes-preserve-unknown-fields": true,
			}},
			"subresources": map[string]any{"status": map[string]any{}},
		})
	}
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": plural + "." + k.Group},
		"spec": map[string]any{
			"group": k.Group, "scope": scope, "versions": versions,
			"names": map[string]any{"kind": k.Name, "listKind": k.Name + "List", "plural": plural, "singular": strings.ToLower(k.Name)},
		},
	}
}

func pluralOf(singular string) string {
	switch {
	case strings.HasSuffix(singular, "y") && !strings.ContainsAny(singular[max(0, len(singular)-2):len(singular)-1], "aeiou"):
		return strings.TrimSuffix(singular, "y") + "ies"
	case strings.HasSuffix(singular, "s"), strings.HasSuffix(singular, "x"), strings.HasSuffix(singular, "ch"), strings.HasSuffix(singular, "sh"):
		return singular + "es"
	}
	return singular + "s"
}

// Fill replaces "{object.path}", "{each.path}" and "{now}".
func Fill(value any, object, each map[string]any, now string) any {
	switch value := value.(type) {
	case map[string]any:
		filled := map[string]any{}
		for key, item := range value {
			filled[key] = Fill(item, object, each, now)
		}
		return filled
	case []any:
		filled := make([]any, len(value))
		for index, item := range value {
			filled[index] = Fill(item, object, each, now)
		}
		return filled
	case string:
		if value == "{now}" {
			return now
		}
		source := object
		path, ok := strings.CutPrefix(value, "{object.")
		if !ok {
			source = each
			path, ok = strings.CutPrefix(value, "{each.")
		}
		if !ok || !strings.HasSuffix(path, "}") {
			return value
		}
		var at any = source
		for _, part := range strings.Split(strings.TrimSuffix(path, "}"), ".") {
			inner, _ := at.(map[string]any)
			at = inner[part]
		}
		return at
	}
	return value
}
