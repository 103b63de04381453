package world

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// api is the API server as the harness sees it.
type api struct {
	dynamic   dynamic.Interface
	discovery *discovery.DiscoveryClient
	mutex     sync.Mutex
	mapper    meta.RESTMapper
}

func newAPI(config *rest.Config) (*api, error) {
	config.QPS = -1
	config.WarningHandler = rest.NoWarnings{}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	discovered, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	return &api{dynamic: client, discovery: discovered}, nil
}

// resource finds the resource of a kind; it asks again if the kind is unknown.
func (a *api) resource(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	for attempt := 0; ; attempt++ {
		if a.mapper != nil {
			mapping, err := a.mapper.RESTMapping(kind, versions...)
			if err == nil || attempt > 0 {
				return mapping, err
			}
		}
		groups, err := restmapper.GetAPIGroupResources(a.discovery)
		if err != nil && len(groups) == 0 {
			return nil, err
		}
		a.mapper = restmapper.NewDiscoveryRESTMapper(groups)
	}
}

func (a *api) of(mapping *meta.RESTMapping, namespace string) dynamic.ResourceInterface {
	resource := a.dynamic.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		return resource.Namespace(namespace)
	}
	return resource
}

// A reference names an object as scenarios do: Kind/name, Kind/namespace/name,
// or with a group: Kind.group/…; kinds that Flux and Kubernetes define need none.
type reference struct {
	kind            schema.GroupKind
	namespace, name string
}

var groups = map[string]string{
	"Kustomization": "kustomize.toolkit.fluxcd.io",
	"GitRepository": "source.toolkit.fluxcd.io", "HelmRepository": "source.toolkit.fluxcd.io",
	"HelmChart": "source.toolkit.fluxcd.io", "HelmRelease": "helm.toolkit.fluxcd.io",
	"Deployment": "apps", "StatefulSet": "apps", "DaemonSet": "apps", "ReplicaSet": "apps",
	"Job": "batch", "CronJob": "batch", "StorageClass": "storage.k8s.io",
	"CustomResourceDefinition": "apiextensions.k8s.io",
	"ClusterRole":              "rbac.authorization.k8s.io", "ClusterRoleBinding": "rbac.authorization.k8s.io",
	"Role": "rbac.authorization.k8s.io", "RoleBinding": "rbac.authorization.k8s.io",
	"Ingress": "networking.k8s.io", "PriorityClass": "scheduling.k8s.io",
	"PodDisruptionBudget": "policy",
}

func parseReference(text string) (reference, error) {
	parts := strings.Split(text, "/")
	kind, group, _ := strings.Cut(parts[0], ".")
	if group == "" {
		group = groups[kind]
	}
	found := reference{kind: schema.GroupKind{Group: group, Kind: kind}}
	switch len(parts) {
	case 2:
		found.name = parts[1]
	case 3:
		found.namespace, found.name = parts[1], parts[2]
	default:
		return found, fmt.Errorf("%q is not Kind/name or Kind/namespace/name", text)
	}
	return found, nil
}

func (a *api) get(ctx context.Context, ref reference) (*unstructured.Unstructured, error) {
	mapping, err := a.resource(ref.kind)
	if err != nil {
		return nil, err
	}
	return a.of(mapping, ref.namespace).Get(ctx, ref.name, metav1.GetOptions{})
}

func (a *api) delete(ctx context.Context, ref reference) error {
	mapping, err := a.resource(ref.kind)
	if err != nil {
		return err
	}
	propagation := metav1.DeletePropagationBackground
	return a.of(mapping, ref.namespace).Delete(ctx, ref.name, metav1.DeleteOptions{PropagationPolicy: &propagation})
}

// patch merges into an object; sub is "" or "status".
func (a *api) patch(ctx context.Context, ref reference, body any, manager, sub string) error {
	mapping, err := a.resource(ref.kind)
	if err != nil {
		return err
	}
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	var subresources []string
	if sub != "" {
		subresources = []string{sub}
	}
	_, err = a.of(mapping, ref.namespace).Patch(ctx, ref.name, types.MergePatchType, data,
		metav1.PatchOptions{FieldManager: manager}, subresources...)
	return err
}

// apply is a server-side apply by a manager.
func (a *api) apply(ctx context.Context, object map[string]any, manager string) error {
	item := unstructured.Unstructured{Object: object}
	kind := item.GroupVersionKind()
	mapping, err := a.resource(kind.GroupKind(), kind.Version)
	if err != nil {
		return err
	}
	data, err := json.Marshal(object)
	if err != nil {
		return err
	}
	force := true
	_, err = a.of(mapping, item.GetNamespace()).Patch(ctx, item.GetName(), types.ApplyPatchType, data,
		metav1.PatchOptions{FieldManager: manager, Force: &force})
	return err
}

func (a *api) list(ctx context.Context, kind schema.GroupKind) ([]unstructured.Unstructured, error) {
	mapping, err := a.resource(kind)
	if err != nil {
		return nil, err
	}
	list, err := a.dynamic.Resource(mapping.Resource).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}
