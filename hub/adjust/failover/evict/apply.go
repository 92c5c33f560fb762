package evict

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/evictions"
)

// Apply returns the targets and tasks of a binding after a decision.
func Apply(spec *workv1alpha2.ResourceBindingSpec, d *Decision, now time.Time) ([]workv1alpha2.TargetCluster, []workv1alpha2.GracefulEvictionTask) {
	var tasks []workv1alpha2.GracefulEvictionTask
	var targets []workv1alpha2.TargetCluster
	for i := range spec.GracefulEvictionTasks {
		task := *spec.GracefulEvictionTasks[i].DeepCopy()
		e := d.ended(task.FromCluster)
		if e == nil {
			if task.CreationTimestamp == nil {
				task.CreationTimestamp = new(metav1.NewTime(now.Truncate(time.Second)))
			}
			tasks = append(tasks, task)
		} else if e.How == workv1alpha2.EvictionReturned {
			targets = append(targets, workv1alpha2.TargetCluster{Name: e.Cluster, Replicas: e.Replicas})
		}
	}
	for _, e := range d.Evictions {
		if !slices.ContainsFunc(tasks, func(t workv1alpha2.GracefulEvictionTask) bool { return t.FromCluster == e.Cluster }) {
			tasks = append(tasks, e.Task)
		}
	}
	for i := range spec.Clusters {
		if d.leaving(spec.Clusters[i].Name) {
			continue
		}
		target := *spec.Clusters[i].DeepCopy()
		if less, ok := d.Withdrawn[target.Name]; ok {
			if target.Replicas -= less; less == 0 || target.Replicas <= 0 {
				continue
			}
		}
		targets = append(targets, target)
	}
	slices.SortStableFunc(targets, func(a, b workv1alpha2.TargetCluster) int { return cmp.Compare(a.Name, b.Name) })
	return targets, tasks
}

// Remember returns the eviction history of a binding after a decision.
func Remember(in *Input, d *Decision) []workv1alpha2.Eviction {
	out := slices.Clone(in.Past)
	for i := range out {
		past := &out[i]
		if past.Ended != nil {
			continue
		}
		over, how := d.ended(past.From), ""
		switch {
		case over != nil:
			how = over.How
		case !bindings.Leaving(in.Spec, past.From):
			how = workv1alpha2.EvictionReleased // somebody removed the task
		default:
			continue
		}
		past.To, past.Before = evictions.Gained(past, in.Spec.Clusters), nil
		past.How, past.Ended = how, new(metav1.NewTime(in.Now.Truncate(time.Second)))
	}
	for _, e := range d.Evictions {
		out = append(out, workv1alpha2.Eviction{
			From: e.Cluster, At: *e.Task.CreationTimestamp, Reason: e.Task.Reason, Message: e.Task.Message,
			Template: in.Spec.Resource.ResourceVersion, Before: evictions.TargetsBefore(in.Spec.Clusters),
		})
	}
	return out
}

func (d *Decision) ended(cluster string) *Ended {
	for i := range d.Ended {
		if d.Ended[i].Cluster == cluster {
			return &d.Ended[i]
		}
	}
	return nil
}
