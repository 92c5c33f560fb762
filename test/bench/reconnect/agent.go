package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"fairlead.dev/agent/clusterstatus"
	"fairlead.dev/agent/clusterstatus/pods"
	"fairlead.dev/agent/presence"
	"fairlead.dev/agent/registration"
	"fairlead.dev/agent/registration/discovery"
	"fairlead.dev/agent/setup"
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

// agent is the state of one agent.
type agent struct {
	name   string
	member *rest.Config
	next   http.RoundTripper
	counts *counts
	// watching is when its watch of Works was last accepted, in Unix nanoseconds.
	watching atomic.Int64
}

// counts are the answered requests of all agents.
type counts struct{ requests, refused atomic.Int64 }

// RoundTrip counts requests.
func (a *agent) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := a.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	a.counts.requests.Add(1)
	switch {
	case response.StatusCode == http.StatusTooManyRequests:
		a.counts.refused.Add(1)
	case response.StatusCode == http.StatusOK && strings.HasSuffix(r.URL.Path, "/works") && r.URL.Query().Has("watch"):
		a.watching.Store(time.Now().UnixNano())
	}
	return response, nil
}

// join joins the member and returns its credentials.
func (a *agent) join(ctx context.Context, dir string, args []string) (*registration.Credentials, error) {
	state := filepath.Join(dir, a.name)
	flags := discovery.Flags{Hub: args[0], Cluster: a.name}
	for i, arg := range args {
		switch arg {
		case "--token":
			flags.Token = args[i+1]
		case "--discovery-token-ca-cert-hash":
			flags.CACertHashes = append(flags.CACertHashes, args[i+1])
		}
	}
	if _, err := registration.Join(ctx, registration.Options{Flags: flags, StateDir: state, Member: a.member}); err != nil {
		return nil, fmt.Errorf("joining as %s: %w", a.name, err)
	}
	return registration.OpenCredentials(registration.KeepOptions{StateDir: state, Clock: clock.RealClock{}, Random: rand.Float64})
}

// run runs the agent, as far as the hub can see it, until the context ends.
func (a *agent) run(ctx context.Context, scheme *runtime.Scheme, credentials *registration.Credentials, workload client.WithWatch) error {
	a.next = credentials
	config := &rest.Config{Host: credentials.Config().Host, Transport: a, QPS: -1}
	namespace := "karmada-es-" + a.name
	mgr, err := ctrl.NewManager(config, manager.Options{
		Scheme:         scheme,
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return mapper(), nil },
		Cache: cache.Options{ByObject: map[client.Object]cache.ByObject{
			&workv1alpha1.Work{}:       {Namespaces: map[string]cache.Config{namespace: {}}},
			&clusterv1alpha1.Cluster{}: {Field: fields.OneTermEqualSelector("metadata.name", a.name)},
		}},
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: ctrlconfig.Controller{SkipNameValidation: new(true), CacheSyncTimeout: time.Hour},
	})
	if err != nil {
		return fmt.Errorf("connecting %s to the hub: %w", a.name, err)
	}
	err = clusterstatus.Register(mgr, clusterstatus.Deps{
		Cluster: a.name, MemberConfig: a.member, MemberHTTP: http.DefaultClient, Workload: workload, Pods: pods.New(clock.RealClock{}),
		Unclaimed: func() int { return 0 }, Held: func() (metav1.Condition, bool) { return metav1.Condition{}, false },
		Clock: clock.RealClock{}, Frequency: setup.DefaultStatusFrequency,
	})
	if err != nil {
		return fmt.Errorf("setting %s up: %w", a.name, err)
	}
	err = presence.Register(mgr, presence.Deps{
		Cluster: a.name, Member: workload, Newest: func() (presence.Seen, bool) { return presence.Seen{}, false },
		Clock: clock.RealClock{}, Frequency: setup.DefaultStatusFrequency,
		LeaseDuration: setup.DefaultLeaseDuration, LeaseRenewFraction: setup.DefaultLeaseRenewFraction,
		Trust: func() presence.Trust {
			authorities, issuer := credentials.Trust()
			return presence.Trust{Authorities: authorities, Issuer: issuer}
		},
	})
	if err != nil {
		return fmt.Errorf("setting %s up: %w", a.name, err)
	}
	works := manager.RunnableFunc(func(ctx context.Context) error {
		_, err := mgr.GetCache().GetInformer(ctx, &workv1alpha1.Work{})
		return err
	})
	if err := mgr.Add(works); err != nil {
		return fmt.Errorf("setting %s up: %w", a.name, err)
	}
	go func() { _ = credentials.Keep(ctx) }() // the test is over before a certificate expires
	return mgr.Start(ctx)
}

// mapper maps the kinds that an agent uses on the hub.
func mapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper([]schema.GroupVersion{workv1alpha1.GroupVersion, clusterv1alpha1.GroupVersion, coordinationv1.SchemeGroupVersion})
	m.Add(workv1alpha1.GroupVersion.WithKind("Work"), meta.RESTScopeNamespace)
	m.Add(clusterv1alpha1.GroupVersion.WithKind("Cluster"), meta.RESTScopeRoot)
	m.Add(coordinationv1.SchemeGroupVersion.WithKind("Lease"), meta.RESTScopeNamespace)
	return m
}
