package main

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/namespace"
	"k8s.io/kubernetes/pkg/controller/serviceaccount"
	"k8s.io/kubernetes/pkg/controller/volume/pvcprotection"

	v1 "k8s.io/api/core/v1"
)

// garbageSync is how often the collector looks for new kinds; kube-controller-manager uses 30 s.
const garbageSync = 30 * time.Second

// startControllers runs the few controllers of kube-controller-manager that a
// cluster without nodes needs, wired as it wires them.
func startControllers(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	metadataClient, err := metadata.NewForConfig(config)
	if err != nil {
		return err
	}
	shared := informers.NewSharedInformerFactory(client, 12*time.Hour)
	partial := metadatainformer.NewSharedInformerFactory(metadataClient, 12*time.Hour)
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(
		memory.NewMemCacheClient(discovery.NewDiscoveryClientForConfigOrDie(config)))
	go wait.Until(mapper.Reset, garbageSync, ctx.Done())

	namespaces := namespace.NewNamespaceController(ctx, client, metadataClient,
		client.Discovery().ServerPreferredNamespacedResources,
		shared.Core().V1().Namespaces(), 5*time.Minute, v1.FinalizerKubernetes)

	accounts, err := serviceaccount.NewServiceAccountsController(klog.FromContext(ctx),
		shared.Core().V1().ServiceAccounts(), shared.Core().V1().Namespaces(), client,
		serviceaccount.DefaultServiceAccountsControllerOptions())
	if err != nil {
		return err
	}
	claims, err := pvcprotection.NewPVCProtectionController(klog.FromContext(ctx),
		shared.Core().V1().PersistentVolumeClaims(), shared.Core().V1().Pods(), client)
	if err != nil {
		return err
	}
	started := make(chan struct{})
	ignored := make(map[schema.GroupResource]struct{})
	for resource := range garbagecollector.DefaultIgnoredResources() {
		ignored[resource] = struct{}{}
	}
	garbage, err := garbagecollector.NewGarbageCollector(ctx, client, metadataClient, mapper, ignored,
		informerfactory.NewInformerFactory(shared, partial), started)
	if err != nil {
		return err
	}

	shared.Start(ctx.Done())
	partial.Start(ctx.Done())
	close(started)
	go namespaces.Run(ctx, 10)
	go accounts.Run(ctx, 1)
	go claims.Run(ctx, 1)
	go garbage.Run(ctx, 20, garbageSync)
	go garbage.Sync(ctx, client.Discovery(), garbageSync)
	return nil
}
