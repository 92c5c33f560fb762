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
	// joiners is how many clusters are registered, or agents started, concurrently.
	joiners = 16
	// writers is the maximum of concurrent writes of all agents.
	writers = 128
	// joinTimeout is how long the hub may take to grant all agents their rights, and until all agents have reported.
	joinTimeout = 10 * time.Minute
	poll        = 100 * time.Millisecond
)

// Options configure a fleet of agents.
type Options struct {
	// Hub is an administrator's configuration for the hub's API.
	Hub *rest.Config
	// PKI is the directory with the certificates and keys of that API, pki in the hub's data directory: its authority
	// signs the agents' certificates.
	PKI string
	// Dir holds a state directory with the credentials of each agent, as real ones have. It must not be shared.
	Dir string
	// Outcome returns the outcome of each manifest; nil means Running.
	Outcome func(cluster string, manifest *unstructured.Unstructured) Outcome
	// Delay is how long an agent takes from a Work to its status.
	Delay time.Duration
	// StatusInterval is how often an agent sums up the requests of its pods; 0 is the interval of a real agent.
	StatusInterval time.Duration
	// LeaseInterval is how often an agent renews its lease; 0 is the interval of a real agent.
	LeaseInterval time.Duration
	// Lines makes the agents keep lines open, as real agents do by default.
	Lines bool
}

// Fleet is any number of agents. Its methods are safe for concurrent use.
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
	if o.StatusInterval == 0 {
		o.StatusInterval = setup.DefaultStatusFrequency
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
		// The logs of reflectors are of no interest.
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

// Join registers clusters, and returns when the agent of each has reported to the hub.
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

// AwaitLines returns when the hub counts the line of each agent as its heartbeat.
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

// register gives the agent of a member its credentials, and creates the Cluster as the hub would.
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

// awaitRights returns when the agents of clusters have all of their rights, of which the right to renew the lease is
// the last. It polls less often for more agents, because it lists the rights of all of them.
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

// Silence cuts agents off: their connections break, and the hub does not hear from them until Return.
func (f *Fleet) Silence(names ...string) {
	for _, a := range f.named(names) {
		a.stop()
	}
}

// Return makes silent agents talk again. Like real ones they list everything anew.
func (f *Fleet) Return(names ...string) error {
	for _, a := range f.named(names) {
		if err := a.start(); err != nil {
			return err
		}
	}
	return nil
}

// Tell replaces the function that returns the outcome of manifests. Works whose status it changes are reported again.
func (f *Fleet) Tell(outcome func(cluster string, manifest *unstructured.Unstructured) Outcome) {
	f.mu.Lock()
	f.outcome = outcome
	f.mu.Unlock()
	for _, a := range f.named(nil) {
		a.again()
	}
}

// Names returns the clusters of the fleet, sorted.
func (f *Fleet) Names() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.agents))
}

// named returns the named agents; all of them if there are no names.
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
