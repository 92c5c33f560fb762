package dashboard

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/people/dashboard/chart"
	"fairlead.dev/hub/people/dashboard/index"
	"fairlead.dev/hub/people/live"
	"fairlead.dev/hub/people/view/applications"
	"fairlead.dev/hub/people/view/clusters"
)

// follow fills the index from the cache, and keeps it up to date. It returns when the index is as complete as the
// cache.
func (s *Server) follow(ctx context.Context) error {
	// Clusters come first: whether an application's status counts depends on the health of its clusters.
	for _, kind := range []struct {
		of  client.Object
		put func(obj any)
		del func(obj any)
	}{
		{&clusterv1alpha1.Cluster{}, s.putCluster, s.dropCluster},
		{&coordinationv1.Lease{}, s.putLease, s.dropLease},
		{&workv1alpha2.ResourceBinding{}, s.putBinding, s.dropBinding},
		{&workv1alpha2.ClusterResourceBinding{}, s.putBinding, s.dropBinding},
		{&fairleadv1alpha1.StagedRollout{}, s.putRollout, s.dropRollout},
		{&fairleadv1alpha1.ClusterStagedRollout{}, s.putRollout, s.dropRollout},
		{&policyv1alpha1.PropagationPolicy{}, s.putPolicy, s.dropPolicy},
		{&policyv1alpha1.ClusterPropagationPolicy{}, s.putPolicy, s.dropPolicy},
	} {
		if s.MayFollow != nil {
			yes, err := s.MayFollow(ctx, kind.of)
			if err != nil {
				return err
			}
			if !yes {
				s.log.Info("Leaving out kinds that the user may not watch", "kind", fmt.Sprintf("%T", kind.of))
				continue
			}
		}
		informer, err := s.Cache.GetInformer(ctx, kind.of)
		if meta.IsNoMatchError(err) { // an older hub does not have the kind
			s.log.Info("Leaving out kinds that this hub does not know", "kind", fmt.Sprintf("%T", kind.of))
			continue
		}
		if err != nil {
			return fmt.Errorf("following %T: %w", kind.of, err)
		}
		handler, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    kind.put,
			UpdateFunc: func(_, obj any) { kind.put(obj) },
			DeleteFunc: func(obj any) {
				if gone, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
					obj = gone.Obj
				}
				kind.del(obj)
			},
		})
		if err != nil {
			return fmt.Errorf("following %T: %w", kind.of, err)
		}
		if !toolscache.WaitForCacheSync(ctx.Done(), handler.HasSynced) {
			return ctx.Err()
		}
	}
	return nil
}

func (s *Server) putCluster(obj any) {
	if c, ok := obj.(*clusterv1alpha1.Cluster); ok {
		s.index.PutCluster(c, s.clock.Now())
		s.topics.Publish(live.Topic{Kind: live.Cluster, Key: c.Name})
	}
}

func (s *Server) dropCluster(obj any) {
	if c, ok := obj.(*clusterv1alpha1.Cluster); ok {
		s.index.DropCluster(c.Name, s.clock.Now())
		s.topics.Publish(live.Topic{Kind: live.Cluster, Key: c.Name})
	}
}

func (s *Server) putLease(obj any) {
	if l, ok := obj.(*coordinationv1.Lease); ok && l.Namespace == contract.ClusterNamespace {
		s.index.PutLease(l.Name, l)
		s.topics.Publish(live.Topic{Kind: live.Lease, Key: l.Name})
	}
}

func (s *Server) dropLease(obj any) {
	if l, ok := obj.(*coordinationv1.Lease); ok && l.Namespace == contract.ClusterNamespace {
		s.index.PutLease(l.Name, nil)
		s.topics.Publish(live.Topic{Kind: live.Lease, Key: l.Name})
	}
}

// publish tells open pages that an object has changed.
func (s *Server) publish(kind string, obj metav1.Object) {
	s.topics.Publish(live.Topic{Kind: kind, Key: obj.GetNamespace() + "/" + obj.GetName()})
}

func (s *Server) putBinding(obj any) {
	if b, ok := obj.(workv1alpha2.Binding); ok {
		s.index.PutBinding(b, s.clock.Now())
		s.publish(live.Application, b)
	}
}

func (s *Server) dropBinding(obj any) {
	if b, ok := obj.(workv1alpha2.Binding); ok {
		s.index.DropBinding(index.Key{Namespace: b.GetNamespace(), Name: b.GetName()}, s.clock.Now())
		s.publish(live.Application, b)
	}
}

func (s *Server) putRollout(obj any) {
	if ro, ok := obj.(fairleadv1alpha1.Rollout); ok {
		s.index.PutRollout(ro)
		s.publish(live.Rollout, ro)
	}
}

func (s *Server) dropRollout(obj any) {
	if ro, ok := obj.(fairleadv1alpha1.Rollout); ok {
		s.index.DropRollout(index.Key{Namespace: ro.GetNamespace(), Name: ro.GetName()})
		s.publish(live.Rollout, ro)
	}
}

func (s *Server) putPolicy(obj any) {
	if p, ok := obj.(policyv1alpha1.Policy); ok {
		s.index.PutPolicy(p)
		s.publish(live.Policy, p)
	}
}

func (s *Server) dropPolicy(obj any) {
	if p, ok := obj.(policyv1alpha1.Policy); ok {
		s.index.DropPolicy(p)
		s.publish(live.Policy, p)
	}
}

// Names of the series; those of a cluster are followed by its name.
const (
	seriesReady    = "fleet/ready"
	seriesClusters = "fleet/clusters"
	seriesHealthy  = "apps/healthy"
	seriesFailing  = "apps/troubled"
	seriesCPU      = "cpu/"
	seriesMemory   = "memory/"
	seriesLag      = "lag/"
)

// sample adds samples to the history until the context ends.
func (s *Server) sample(ctx context.Context) error {
	ticker := s.clock.NewTicker(chart.Every)
	defer ticker.Stop()
	for {
		s.history.Add(s.clock.Now(), s.measure(s.clock.Now()))
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		}
	}
}

// measure returns the present values of all series.
func (s *Server) measure(now time.Time) map[string]float64 {
	fleet := s.index.Clusters(now, index.ClusterDetails{Leases: true})
	const perCluster = 3
	out := make(map[string]float64, perCluster*len(fleet)+4)
	for i := range fleet {
		c := &fleet[i]
		if c.State == clusters.Ready || c.State == clusters.Cordoned {
			out[seriesReady]++
		}
		if c.CPU != nil {
			out[seriesCPU+c.Name] = usedShare(c.CPU)
		}
		if c.Memory != nil {
			out[seriesMemory+c.Name] = usedShare(c.Memory)
		}
		if c.Lag != nil {
			out[seriesLag+c.Name] = *c.Lag
		}
	}
	out[seriesReady] += 0 // the series exists even if no cluster is ready
	out[seriesClusters] = float64(len(fleet))
	healthy := 0
	apps := s.index.Applications()
	for _, a := range apps {
		if a.State == applications.Healthy {
			healthy++
		}
	}
	out[seriesHealthy], out[seriesFailing] = float64(healthy), float64(len(apps)-healthy)
	return out
}

// usedShare returns which share of a resource is used, from 0 to 1.
func usedShare(u *clusters.Usage) float64 {
	total := u.Total.AsApproximateFloat64()
	if total <= 0 {
		return 0
	}
	return u.Used.AsApproximateFloat64() / total
}
