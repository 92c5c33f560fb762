package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/test/requests"
)

// api is one API server.
type api struct {
	name   string
	config *rest.Config
	client client.WithWatch
}

// bench is the system to measure.
type bench struct {
	options

	hub     api
	members []api
	// bare is the API server for the floor; its client is nil if the floor is not measured.
	bare api
	pids map[string]int
	// asked counts the bench's own requests to the hub.
	asked requests.Counter
}

func connect(ctx context.Context, o options) (*bench, error) {
	scheme, err := kube.NewScheme()
	if err != nil {
		return nil, err
	}
	if err := appsv1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	b := &bench{options: o}
	if b.hub, err = dial("hub", o.hub, scheme, b.asked.Wrap); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(o.members)) {
		member, err := dial(name, o.members[name], scheme, nil)
		if err != nil {
			return nil, err
		}
		b.members = append(b.members, member)
	}
	if o.floor != "" {
		if b.bare, err = dial("floor", o.floor, scheme, nil); err != nil {
			return nil, err
		}
	}
	if b.pids, err = o.pids(); err != nil {
		return nil, err
	}
	b.pids["bench"] = os.Getpid()
	for _, a := range append([]api{b.hub}, b.members...) {
		if err := a.client.List(ctx, &corev1.NamespaceList{}, client.Limit(1)); err != nil {
			return nil, fmt.Errorf("talking to %q: %w", a.name, err)
		}
	}
	return b, b.disableDeletionBrakes(ctx)
}

// disableDeletionBrakes turns the agents' deletion brakes off: the bench deletes everything at once, and has no
// operator to approve that.
func (b *bench) disableDeletionBrakes(ctx context.Context) error {
	off := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"deletionBrake":{"objects":0,"percent":100}}}`))
	for _, name := range b.clusterNames() {
		cluster := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if err := b.hub.client.Patch(ctx, cluster, off); err != nil {
			return fmt.Errorf("taking the deletion brake off cluster %q: %w", name, err)
		}
	}
	return nil
}

// dial creates a client of an API server. wrap, which wraps its transport, may be nil.
func dial(name, kubeconfig string, scheme *runtime.Scheme, wrap func(http.RoundTripper) http.RoundTripper) (api, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return api{}, fmt.Errorf("reading the kubeconfig of %q: %w", name, err)
	}
	config.QPS = -1
	if wrap != nil {
		config.Wrap(wrap)
	}
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return api{}, fmt.Errorf("making a client of %q: %w", name, err)
	}
	return api{name: name, config: config, client: c}, nil
}

func (b *bench) clusterNames() []string {
	names := make([]string, len(b.members))
	for i, m := range b.members {
		names[i] = m.name
	}
	return names
}

// ensureNamespace creates a namespace if it does not exist. In members this is done beforehand, so that only the
// application is measured.
func (a api) ensureNamespace(ctx context.Context, name string) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{contract.SkipAutoPropagationLabel: contract.LabelTrue},
	}}
	if err := client.IgnoreAlreadyExists(a.client.Create(ctx, ns)); err != nil {
		return fmt.Errorf("making namespace %q in %q: %w", name, a.name, err)
	}
	return nil
}

func (a api) dropNamespace(ctx context.Context, name string) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := client.IgnoreNotFound(a.client.Delete(ctx, ns)); err != nil {
		return fmt.Errorf("deleting namespace %q in %q: %w", name, a.name, err)
	}
	return nil
}
