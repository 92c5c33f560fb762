package decide

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

// takeBack returns the spec without the eviction tasks of clusters that are back and whose old copy may be chosen again, and the replicas
// of those copies by cluster. The copies still run: choosing the cluster again keeps them instead of deleting them first. It returns the
// spec itself if there are none.
func takeBack(in Input) (spec *workv1alpha2.ResourceBindingSpec, copies map[string]int32) {
	tasks := in.Spec.GracefulEvictionTasks
	if len(tasks) == 0 {
		return in.Spec, nil
	}
	clusters := sortedClusters(in.Clusters)
	copies = map[string]int32{}
	for i := range tasks {
		if survives(&tasks[i], clusters.named(tasks[i].FromCluster), in) {
			copies[tasks[i].FromCluster] = ptr.Deref(tasks[i].Replicas, 0)
		}
	}
	if len(copies) == 0 {
		return in.Spec, nil
	}
	out := *in.Spec
	out.GracefulEvictionTasks = slices.DeleteFunc(slices.Clone(tasks), func(t workv1alpha2.GracefulEvictionTask) bool {
		_, back := copies[t.FromCluster]
		return back
	})
	return &out, copies
}

// survives returns whether the copy that a task evicts may be chosen again, in a cluster that is Ready. It may if the cluster was left
// because of a taint (whether the taint is gone is up to the filters); because the namespace did not allow the cluster, and does again; or,
// with in.recall, for a preferred cluster.
func survives(task *workv1alpha2.GracefulEvictionTask, c *clusterv1alpha1.Cluster, in Input) bool {
	left := false
	switch task.Producer {
	case workv1alpha2.ProducerTaintManager:
		left = true
	case workv1alpha2.ProducerScheduler:
		left = in.recall
	case workv1alpha2.ProducerNamespaceClusters:
		left = c != nil && in.Allowance.Allows(c)
	}
	return left && task.PurgeMode.Canonical() != policyv1alpha1.PurgeDirectly && heard(c)
}

// CouldPlaceWithout returns whether an application would gain replicas in other clusters if it could not be in some: it makes that decision
// and discards it. Clusters that the application is leaving for preferred ones count as others.
func CouldPlaceWithout(in Input, without []string) bool {
	var left []Departure
	for _, name := range without {
		if replicas, there := copyIn(in.Spec, name); there {
			left = append(left, Departure{Cluster: name, Replicas: replicas})
		} else {
			in.shunned = append(in.shunned, name)
		}
	}
	in.Spec, in.Past = leaving(in.Spec, in.Past, left)
	in.recall = true
	d := Decide(in)
	if d.Outcome != Scheduled {
		return false
	}
	has := make(map[string]int32, len(in.Spec.Clusters))
	for _, t := range in.Spec.Clusters {
		has[t.Name] = max(has[t.Name], t.Replicas)
	}
	return slices.ContainsFunc(d.Targets, func(t workv1alpha2.TargetCluster) bool {
		n, there := has[t.Name]
		return !there || n < t.Replicas
	})
}

// copyIn returns whether an application has a copy in a cluster, even one that is being evicted, and of how many replicas.
func copyIn(spec *workv1alpha2.ResourceBindingSpec, cluster string) (replicas int32, there bool) {
	for i := range spec.Clusters {
		if spec.Clusters[i].Name == cluster {
			replicas, there = max(replicas, spec.Clusters[i].Replicas), true
		}
	}
	for i := range spec.GracefulEvictionTasks {
		if task := &spec.GracefulEvictionTasks[i]; task.FromCluster == cluster {
			replicas, there = max(replicas, ptr.Deref(task.Replicas, 0)), true
		}
	}
	return replicas, there
}

// WouldReturn returns whether an application would be placed again in a cluster that it is leaving, at once or after the cluster has
// settled. If so, the copy that is still there must not be deleted.
func WouldReturn(in Input, to string) bool {
	in.FailbackDue = true
	return slices.Contains(Decide(in).Return, to)
}

// heard returns whether a cluster exists, is not being deleted, and is Ready.
func heard(c *clusterv1alpha1.Cluster) bool {
	return c != nil && c.DeletionTimestamp.IsZero() && meta.IsStatusConditionTrue(c.Status.Conditions, clusterv1alpha1.ClusterReady)
}

// underWay returns whether the application is leaving a cluster that is Ready. Leaving a silent one may take months, and must not block
// anything else.
func underWay(in Input) bool {
	tasks := in.Spec.GracefulEvictionTasks
	if len(tasks) == 0 {
		return false
	}
	clusters := sortedClusters(in.Clusters)
	return slices.ContainsFunc(tasks, func(t workv1alpha2.GracefulEvictionTask) bool { return heard(clusters.named(t.FromCluster)) })
}

// returned returns the targets whose old copies are taken back, in the order of targets.
func returned(targets []workv1alpha2.TargetCluster, copies map[string]int32) []string {
	var out []string
	for i := range targets {
		if _, ok := copies[targets[i].Name]; ok {
			out = append(out, targets[i].Name)
		}
	}
	return out
}
