package hollow

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/setup"
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/interpreter/native"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/fleet/registration/grant"
	"fairlead.dev/hub/fleet/registration/record"
)

const (
	// joiners is how many clusters are registered, or agents started, at a time.
	joiners = 16
	// writers is how many writes of all agents are under way at a time.
	writers = 128
	// joinTimeout is how long the hub may take to give all agents their rights, and the agents
	// to be heard.
	joinTimeout = 10 * time.Minute
	poll        = 100 * time.Millisecond
)

// Options say whose agents they are.
type Options struct {
	// Hub is how an administrator reaches the hub's API.
	Hub *rest.Config
	// PKI is the directory with the certificates and keys of that API, pki in the data directory of a hub: its authority signs the
	// certificates of the agents.
	PKI string
	// Dir is where the agents keep their credentials, in a state directory each, as real ones do. It is the fleet's alone.
	Dir string
	// Outcome says what comes of each manifest; nil is Running.
	Outcome func(cluster string, manifest *unstructured.Unstructured) Outcome
	// Delay is how long an agent takes from a Work to its status.
	Delay time.Duration
	// LeaseInterval is how often an agent renews its lease; 0 is as often as a real one.
	LeaseInterval time.Duration
	// Lines has the agents keep lines open, as real ones do unless they are told not to.
	Lines bool
}

// Fleet is any number of agents. Its methods may be called by many goroutines.
type Fleet struct {
	options   Options
	ctx       context.Context //nolint:containedctx // Agents begin, and end, at any time of a fleet's life.
	scheme    *runtime.Scheme
	hubClient client.Client
	authority *authority
	kinds     interpreter.Interpreter
	queue     workqueue.TypedRateLimitingInterface[task]
	traffic   traffic

	mu      sync.Mutex
	outcome func(string, *unstructured.Unstructured) Outcome
	agents  map[string]*agent
}

// New returns a fleet without agents, which lives until the context ends.
func New(ctx context.Context, o Options) (*Fleet, error) {
	if o.Hub == nil || o.PKI == "" || o.Dir == "" {
		return nil, errors.New("making hollow agents: they need a hub, its authority, and a directory for their credentials")
	}
	if o.Outcome == nil {
		o.Outcome = func(_ string, manifest *unstructured.Unstructured) Outcome { return Running(manifest) }
	}
	if o.LeaseInterval == 0 {
		o.LeaseInterval = time.Duration(setup.DefaultLeaseRenewFraction * float64(setup.DefaultLeaseDuration))
	}
	scheme, err := kube.NewScheme()
	if err != nil {
		return nil, err
	}
	o.Hub = rest.CopyConfig(o.Hub)
	o.Hub.QPS = -1
	if err := rest.LoadTLSFiles(o.Hub); err != nil {
		return nil, fmt.Errorf("reading whom to trust: %w", err)
	}
	hubClient, err := client.New(o.Hub, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("making a client of the hub: %w", err)
	}
	authority, err := readAuthority(o.PKI)
	if err != nil {
		return nil, err
	}
	f := &Fleet{
		options: o, scheme: scheme, hubClient: hubClient, authority: authority, outcome: o.Outcome, kinds: native.New(), agents: map[string]*agent{},
		// What a reflector has to say is of no interest, unless somebody asks the agents.
		ctx: logr.NewContext(ctx, logr.Discard()),
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[task](100*time.Millisecond, 10*time.Second)),
	}
	for range writers {
		go f.work()
	}
	context.AfterFunc(ctx, f.queue.ShutDown)
	return f, nil
}

// Join registers clusters, and returns when each of them has an agent that the hub has heard.
func (f *Fleet) Join(ctx context.Context, clusters ...*clusterv1alpha1.Cluster) error {
	ctx, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	names := make([]string, 0, len(clusters))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(joiners)
	for _, cluster := range clusters {
		names = append(names, cluster.Name)
		g.Go(func() error { return f.register(gctx, cluster) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if err := f.awaitRights(ctx, names); err != nil {
		return err
	}
	g, gctx = errgroup.WithContext(ctx)
	g.SetLimit(joiners)
	for _, name := range names {
		g.Go(func() error {
			a := newAgent(f, name)
			f.mu.Lock()
			f.agents[name] = a
			f.mu.Unlock()
			if err := a.start(); err != nil {
				return err
			}
			select {
			case <-a.told:
				return nil
			case <-gctx.Done():
				return fmt.Errorf("waiting for cluster %q to be heard: %w", name, gctx.Err())
			}
		})
	}
	return g.Wait()
}

// AwaitLines returns when the hub takes the line of each agent for its sign of life.
func (f *Fleet) AwaitLines(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	agents, missing := f.named(nil), 0
	err := wait.PollUntilContextCancel(ctx, poll, true, func(context.Context) (bool, error) {
		missing = 0
		for _, a := range agents {
			if !a.rests() {
				missing++
			}
		}
		return missing == 0, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for lines by which the hub sees agents (%d of %d have none; does it serve lines?): %w", missing, len(agents), err)
	}
	return nil
}

// register gives the agent of a member its credentials, and makes the Cluster as the hub would have made it.
func (f *Fleet) register(ctx context.Context, cluster *clusterv1alpha1.Cluster) error {
	cluster = cluster.DeepCopy()
	cluster.Spec.ID, cluster.Spec.SyncMode = "member-"+cluster.Name, clusterv1alpha1.Pull
	joined, issued, err := f.admit(cluster.Name, cluster.Spec.ID)
	if err != nil {
		return err
	}
	how, err := record.Write(joined)
	if err != nil {
		return err
	}
	certificate, err := record.Write(issued)
	if err != nil {
		return err
	}
	metav1.SetMetaDataAnnotation(&cluster.ObjectMeta, contract.JoinedAnnotation, how)
	metav1.SetMetaDataAnnotation(&cluster.ObjectMeta, contract.CertificateAnnotation, certificate)
	cluster.Status = clusterv1alpha1.ClusterStatus{}
	if err := f.hubClient.Create(ctx, cluster, client.FieldOwner(contract.FieldManagerRegistration)); err != nil {
		return fmt.Errorf("registering cluster %q: %w", cluster.Name, err)
	}
	return nil
}

// awaitRights returns when the agents of clusters have all of their rights, of which the right to renew the lease is the last. The more there are the more rarely it looks: it reads them all.
func (f *Fleet) awaitRights(ctx context.Context, names []string) error {
	missing := sets.New(names...)
	err := wait.PollUntilContextCancel(ctx, max(poll, time.Duration(len(names))*time.Millisecond), true, func(ctx context.Context) (bool, error) {
		var bindings rbacv1.RoleBindingList
		if err := f.hubClient.List(ctx, &bindings, client.InNamespace(contract.ClusterNamespace), client.MatchingLabels{contract.SystemLabel: contract.LabelTrue}); err != nil {
			return false, fmt.Errorf("listing the rights of agents: %w", err)
		}
		for i := range bindings.Items {
			if cluster, ok := grant.ClusterOf(bindings.Items[i].Namespace, bindings.Items[i].Name); ok {
				missing.Delete(cluster)
			}
		}
		return missing.Len() == 0, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for the hub to give agents their rights (%d of %d have none; is it running?): %w", missing.Len(), len(names), err)
	}
	return nil
}

// Silence cuts agents off: their connections end, and the hub hears nothing of them until Return.
func (f *Fleet) Silence(names ...string) {
	for _, a := range f.named(names) {
		a.stop()
	}
}

// Return has agents that were silent talk again. Like real ones they read everything anew.
func (f *Fleet) Return(names ...string) error {
	for _, a := range f.named(names) {
		if err := a.start(); err != nil {
			return err
		}
	}
	return nil
}

// Tell says what comes of manifests from now on. What was reported before is reported again where
// that changes it.
func (f *Fleet) Tell(outcome func(cluster string, manifest *unstructured.Unstructured) Outcome) {
	f.mu.Lock()
	f.outcome = outcome
	f.mu.Unlock()
	for _, a := range f.named(nil) {
		a.again()
	}
}

// SetRoom says what the nodes of a member have room for, in sum.
func (f *Fleet) SetRoom(name string, allocatable corev1.ResourceList) {
	for _, a := range f.named([]string{name}) {
		a.setRoom(allocatable)
	}
}

// Names returns the clusters of the fleet, sorted.
func (f *Fleet) Names() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.agents))
}

// named returns agents; all of them if no names are given.
func (f *Fleet) named(names []string) []*agent {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]*agent, 0, len(f.agents))
	if names == nil {
		for _, a := range f.agents {
			out = append(out, a)
		}
	}
	for _, name := range names {
		if a, ok := f.agents[name]; ok {
			out = append(out, a)
		}
	}
	return out
}

func (f *Fleet) outcomeOf(cluster string, manifest *unstructured.Unstructured) Outcome {
	f.mu.Lock()
	outcome := f.outcome
	f.mu.Unlock()
	return outcome(cluster, manifest)
}
