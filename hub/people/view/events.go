package view

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
)

// kindRequest is the kind of the requests for agents' certificates.
const kindRequest = "CertificateSigningRequest"

// Events reads all events of a scope, the oldest first.
func (r *Reader) Events(ctx context.Context, scope Scope) ([]Event, error) {
	clusterOf, err := r.places(ctx)
	if err != nil {
		return nil, err
	}
	return r.events(ctx, clusterOf, client.InNamespace(scope.Namespace))
}

// EventsOf reads the events about an application's template, binding and Works, the oldest first.
func (r *Reader) EventsOf(ctx context.Context, ref Ref) ([]Event, error) {
	about := []Object{{Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}}
	b, err := r.Binding(ctx, ref)
	if err != nil {
		return nil, err
	}
	if b == nil {
		if _, err := r.Template(ctx, ref); err != nil {
			return nil, err
		}
	} else {
		kind := "ResourceBinding"
		if b.GetNamespace() == "" {
			kind = "ClusterResourceBinding"
		}
		about = append(about, Object{Kind: kind, Namespace: b.GetNamespace(), Name: b.GetName()})
		works, err := r.Works(ctx, b)
		if err != nil && !apierrors.IsForbidden(err) { // who may not read Works may not read events about them
			return nil, err
		}
		for i := range works {
			about = append(about, Object{Kind: "Work", Namespace: works[i].Namespace, Name: works[i].Name})
		}
	}
	all, err := r.Events(ctx, Scope{})
	if apierrors.IsForbidden(err) && ref.Namespace != "" {
		all, err = r.Events(ctx, Scope{Namespace: ref.Namespace})
	}
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(e Event) bool { return !slices.Contains(about, e.Object) }), nil
}

// EventsOfCluster reads the events about a cluster, about its agent's certificate requests, and in its execution
// namespace, the oldest first.
func (r *Reader) EventsOfCluster(ctx context.Context, name string) ([]Event, error) {
	all, err := r.Events(ctx, Scope{})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(e Event) bool { return e.Cluster != name }), nil
}

// places returns a function that returns the cluster that an object concerns.
func (r *Reader) places(ctx context.Context) (func(Object) string, error) {
	clusters, err := r.clusters(ctx)
	if err != nil && !apierrors.IsForbidden(err) {
		return nil, err
	}
	clusterOf := map[string]string{}
	for _, c := range clusters {
		clusterOf[ExecutionNamespace(c)] = c.Name
	}
	return func(o Object) string {
		switch o.Kind {
		case clusterv1alpha1.KindCluster:
			return o.Name
		case kindRequest:
			return clusterOfRequest(o.Name)
		default:
			return clusterOf[o.Namespace]
		}
	}, nil
}

// clusterOfRequest returns the cluster of a certificate renewal, by the name of the request.
func clusterOfRequest(request string) string {
	if i := strings.LastIndex(request, "."); i > 0 && request == contract.RenewalRequest(request[:i]) {
		return request[:i]
	}
	if i := strings.LastIndex(request, "-"); i > 0 {
		return request[:i]
	}
	return ""
}

// events reads events, the oldest first.
func (r *Reader) events(ctx context.Context, clusterOf func(Object) string, opts ...client.ListOption) ([]Event, error) {
	var out []Event
	err := listPages(ctx, r.hub, func() *corev1.EventList { return &corev1.EventList{} },
		func(list *corev1.EventList) { out = append(out, eventsFrom(list.Items, clusterOf)...) }, opts...)
	if err != nil {
		return nil, fmt.Errorf("listing events: %w", err)
	}
	sortEvents(out)
	return out, nil
}
