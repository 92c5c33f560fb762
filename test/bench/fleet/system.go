package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/kube"
	"fairlead.dev/test/bench/meter"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/fleet"
	"fairlead.dev/test/fleet/hollow"
	"fairlead.dev/test/process"
	"fairlead.dev/test/requests"
)

const (
	// perNamespace is how many applications share a namespace.
	perNamespace = 200
	// regions is the number of regions of the clusters.
	regions = 4
	// writers is the number of concurrent writes of templates.
	writers    = 8
	policyName = "everything"
	kindLabel  = "bench"
	// firstVersion is the version of the image of a new application.
	firstVersion = "1.0.0"
)

// size is how large the system is.
type size struct{ agents, bindings int }

// system is a hub and its hollow agents.
type system struct {
	options

	fleet  *fleet.Fleet
	config *rest.Config
	// private is the hub's own access to its API, which answers there before it lets others in; it changes with each
	// start.
	private   *rest.Config
	hubClient client.WithWatch
	agents    *hollow.Fleet
	// asked counts the requests of this process without those of its agents.
	asked requests.Counter
	// has is the current size.
	has  size
	bars meter.Bars
	// hubPeak is the peak memory of the hub over all its starts, in bytes.
	hubPeak int64
}

// start starts a hub without clusters. The returned function stops everything and removes its data; it is never nil.
func start(ctx context.Context, o options) (*system, func(), error) {
	args := append([]string{"--profiling", "--resource-eviction-rate=0"}, o.hubArgs...)
	f, err := fleet.New(fleet.Options{Bin: o.bin, Dir: o.dir, HubArgs: args, Report: progress})
	if err != nil {
		return nil, func() {}, err
	}
	if err := os.RemoveAll(f.Dir); err != nil {
		return nil, func() {}, fmt.Errorf("removing what an earlier run left: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	down := func() {
		cancel()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		if err := f.Down(ctx); err != nil {
			progress("%v", err)
			return
		}
		if err := process.Remove(f.Dir); err != nil {
			progress("%v", err)
		}
	}
	if err := f.Up(ctx); err != nil {
		return nil, down, err
	}
	s := &system{options: o, fleet: f, bars: meter.Bars{Report: progress}}
	if s.config, err = f.Config(fleet.HubName); err != nil {
		return nil, down, err
	}
	s.private = s.config
	scheme, err := kube.NewScheme()
	if err != nil {
		return nil, down, err
	}
	if err := appsv1.AddToScheme(scheme); err != nil {
		return nil, down, fmt.Errorf("knowing Deployments: %w", err)
	}
	counted := rest.CopyConfig(s.config)
	counted.QPS = -1
	counted.Wrap(s.asked.Wrap)
	if s.hubClient, err = client.NewWithWatch(counted, client.Options{Scheme: scheme}); err != nil {
		return nil, down, fmt.Errorf("making a client of the hub: %w", err)
	}
	agents := hollow.Options{Hub: counted, PKI: filepath.Join(f.Dir, fleet.HubName, "pki"), Dir: filepath.Join(f.Dir, "agents"), Lines: o.lines}
	if s.agents, err = hollow.New(ctx, agents); err != nil {
		return nil, down, err
	}
	return s, down, s.hubClient.Create(ctx, everything(o.copies))
}

// everything returns the policy that selects all applications.
func everything(copies int) *policyv1alpha1.ClusterPropagationPolicy {
	p := builder.MakePolicy("", policyName).SelectLabel("apps/v1", "Deployment", kindLabel, "true").ClusterObj()
	p.Spec.Placement = policyv1alpha1.Placement{
		ReplicaScheduling: &policyv1alpha1.ReplicaSchedulingStrategy{
			ReplicaSchedulingType: policyv1alpha1.Divided, ReplicaDivisionPreference: policyv1alpha1.Weighted,
			WeightPreference: &policyv1alpha1.ClusterPreferences{DynamicWeight: policyv1alpha1.DynamicWeightByAvailableReplicas},
		},
		SpreadConstraints: []policyv1alpha1.SpreadConstraint{{SpreadByField: policyv1alpha1.SpreadByCluster, MinGroups: 1, MaxGroups: copies}},
		// A lost cluster is evacuated as soon as the hub trusts that it is lost.
		ClusterTolerations: []corev1.Toleration{{
			Key: lostTaint, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(0)),
		}},
	}
	return p
}

// clusterName and application return names by number.
func clusterName(i int) string { return fmt.Sprintf("edge-%05d", i) }

func application(i int) client.ObjectKey {
	return client.ObjectKey{Namespace: "apps-" + strconv.Itoa(i/perNamespace), Name: fmt.Sprintf("app-%06d", i)}
}

// regionOf returns the region of a cluster.
func regionOf(i int) string { return "region-" + strconv.Itoa(i%regions) }

// grow adds clusters and applications up to a size, and returns when everything has settled.
func (s *system) grow(ctx context.Context, to size) error {
	clusters := []*clusterv1alpha1.Cluster{}
	for i := s.has.agents; i < to.agents; i++ {
		clusters = append(clusters, builder.MakeCluster(clusterName(i)).Region(regionOf(i)).Obj())
	}
	began := time.Now()
	if err := s.agents.Join(ctx, clusters...); err != nil {
		return err
	}
	if s.lines {
		if err := s.agents.AwaitLines(ctx); err != nil {
			return err
		}
	}
	progress("%d agents after %.1f s", to.agents, time.Since(began).Seconds())
	began = time.Now()
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(writers)
	for i := s.has.bindings; i < to.bindings; i++ {
		if name := application(i); i%perNamespace == 0 {
			ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name.Namespace}}
			if err := client.IgnoreAlreadyExists(s.hubClient.Create(ctx, ns)); err != nil {
				return fmt.Errorf("making a namespace: %w", err)
			}
		}
		g.Go(func() error {
			if err := s.hubClient.Create(gctx, deployment(application(i))); err != nil {
				return fmt.Errorf("creating an application: %w", err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	progress("%d applications written after %.1f s", to.bindings, time.Since(began).Seconds())
	s.has = to
	return s.awaitServed(ctx)
}

// deployment returns the template of an application.
func deployment(name client.ObjectKey) *appsv1.Deployment {
	labels := map[string]string{"app": name.Name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name, Labels: map[string]string{"app": name.Name, kindLabel: "true"}},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(2)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: "web", Image: "registry.example.com/shop/web:" + firstVersion,
					Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
						corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("64Mi"),
					}},
				}}},
			},
		},
	}
}

// awaitServed waits until the status of every application says that it runs. It polls only a few namespaces at a time,
// the oldest that are not complete, because its reads cost the API server that is measured.
func (s *system) awaitServed(ctx context.Context) error {
	const atATime = 5
	began, open, told := time.Now(), s.namespaces(), 0
	for {
		var waiting []string
		for i, namespace := range open {
			if len(waiting) == atATime {
				waiting = append(waiting, open[i:]...)
				break
			}
			served, all, err := s.servedIn(ctx, namespace)
			switch {
			case err != nil:
				return err
			case served < all:
				waiting = append(waiting, namespace)
			}
		}
		if open = waiting; len(open) == 0 {
			progress("all applications run after %.1f s", time.Since(began).Seconds())
			return nil
		}
		if len(open) != told {
			told = len(open)
			progress("not all applications run in %d of %d namespaces", told, len(s.namespaces()))
		}
		if err := pause(ctx, 3*time.Second); err != nil {
			return err
		}
	}
}

// servedIn returns how many applications of a namespace run, and how many there are.
func (s *system) servedIn(ctx context.Context, namespace string) (served, all int, err error) {
	var list appsv1.DeploymentList
	if err := s.hubClient.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return 0, 0, fmt.Errorf("listing applications: %w", err)
	}
	for i := range list.Items {
		if d := &list.Items[i]; d.Status.ObservedGeneration >= d.Generation && d.Status.ReadyReplicas == *d.Spec.Replicas {
			served++
		}
	}
	return served, len(list.Items), nil
}

// namespaces returns the namespaces of the applications.
func (s *system) namespaces() []string {
	var out []string
	for i := 0; i < s.has.bindings; i += perNamespace {
		out = append(out, application(i).Namespace)
	}
	return out
}

// pause waits; there is no condition for quiet to poll for.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
