package evict

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/test/builder"
)

var start = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// given returns a binding of a Deployment with four replicas that is healthy in edge-1 and edge-2; edge-3 exists too.
func given(changes ...func(*Input)) Input {
	in := Input{
		Now: start, Generation: 3, Namespaced: true, HasHealthRule: true, Works: map[string]Work{"edge-1": {Observed: true}, "edge-2": {Observed: true}}, Clusters: map[string]*clusterv1alpha1.Cluster{},
		Spec: &workv1alpha2.ResourceBindingSpec{
			Replicas: 4, Clusters: []workv1alpha2.TargetCluster{{Name: "edge-1", Replicas: 2}, {Name: "edge-2", Replicas: 2}},
			Placement: &policyv1alpha1.Placement{ReplicaScheduling: &policyv1alpha1.ReplicaSchedulingStrategy{ReplicaSchedulingType: policyv1alpha1.Divided}},
			Resource:  workv1alpha2.ObjectReference{ResourceVersion: "7"},
		},
		Status:    &workv1alpha2.ResourceBindingStatus{SchedulerObservedGeneration: 3, LastScheduledTime: &metav1.Time{Time: start}},
		RateLimit: func(string) time.Duration { return 0 }, CouldPlaceWithout: func([]string) bool { return true }, WouldReturn: func(string) bool { return false },
		State: func(string, []policyv1alpha1.StatePreservationRule) (map[string]string, error) { return nil, nil },
	}
	for _, name := range []string{"edge-1", "edge-2", "edge-3"} {
		ready(name, metav1.ConditionTrue)(&in)
	}
	report("edge-1", workv1alpha1.Healthy, 2)(&in)
	report("edge-2", workv1alpha1.Healthy, 2)(&in)
	for _, change := range changes {
		change(&in)
	}
	return in
}

// ready sets the Ready condition of a cluster, unchanged since the start.
func ready(name string, status metav1.ConditionStatus) func(*Input) {
	return func(in *Input) {
		if in.Clusters[name] == nil {
			in.Clusters[name] = builder.MakeCluster(name).Obj()
		}
		if in.HeardSince == nil {
			in.HeardSince = map[string]time.Time{}
		}
		delete(in.HeardSince, name)
		if status != metav1.ConditionUnknown {
			in.HeardSince[name] = start
		}
		in.Clusters[name].Status.Conditions = []metav1.Condition{{Type: "Ready", Status: status, LastTransitionTime: metav1.NewTime(start)}}
	}
}

func second(n int) time.Time { return start.Add(time.Duration(n) * time.Second) }

func now(n int) func(*Input) { return func(in *Input) { in.Now = second(n) } }

func taint(cluster string) func(*Input) {
	return func(in *Input) {
		in.Clusters[cluster].Spec.Taints = append(in.Clusters[cluster].Spec.Taints,
			corev1.Taint{Key: "lost", Effect: corev1.TaintEffectNoExecute, TimeAdded: &metav1.Time{Time: start}})
	}
}

func report(cluster string, health workv1alpha1.ResourceHealth, replicas int) func(*Input) {
	return func(in *Input) {
		item := workv1alpha2.AggregatedStatusItem{ClusterName: cluster, Applied: true, Health: health}
		if replicas >= 0 {
			item.Status = &runtime.RawExtension{Raw: []byte(`{"replicas":9,"readyReplicas":` + string(rune('0'+replicas)) + `}`)}
		}
		for i := range in.Status.AggregatedStatus {
			if in.Status.AggregatedStatus[i].ClusterName == cluster {
				in.Status.AggregatedStatus[i] = item
				return
			}
		}
		in.Status.AggregatedStatus = append(in.Status.AggregatedStatus, item)
	}
}

func targets(list ...workv1alpha2.TargetCluster) func(*Input) {
	return func(in *Input) { in.Spec.Clusters = list }
}

func target(name string, replicas int32) workv1alpha2.TargetCluster {
	return workv1alpha2.TargetCluster{Name: name, Replicas: replicas}
}

// task adds an eviction task for edge-1, created at the start.
func task(changes ...func(*workv1alpha2.GracefulEvictionTask)) func(*Input) {
	return func(in *Input) {
		out := workv1alpha2.GracefulEvictionTask{
			FromCluster: "edge-1", Replicas: new(int32(2)), PurgeMode: policyv1alpha1.PurgeGracefully, CreationTimestamp: &metav1.Time{Time: start},
			Producer: workv1alpha2.ProducerTaintManager, Reason: workv1alpha2.EvictionTaintUntolerated,
		}
		for _, change := range changes {
			change(&out)
		}
		in.Spec.GracefulEvictionTasks = append(in.Spec.GracefulEvictionTasks, out)
	}
}

// tolerated makes the placement tolerate the taint for a while.
func tolerated(in *Input) {
	in.Tolerations = []corev1.Toleration{{Key: "lost", Operator: corev1.TolerationOpExists, TolerationSeconds: new(int64(300))}}
}

// suspended makes the hub disregard the silence of edge-1.
func suspended(in *Input) {
	in.Suspended = map[string]Suspension{"edge-1": {Reason: "HubSuspectsItself", Message: "Most are silent."}}
}

func removed(in *Input) { in.Clusters["edge-1"].DeletionTimestamp = &metav1.Time{Time: start} }

func scheduled(reason string) func(*Input) {
	return func(in *Input) {
		in.Status.Conditions = []metav1.Condition{{Type: "Scheduled", Status: metav1.ConditionFalse, Reason: reason, ObservedGeneration: in.Generation}}
	}
}

func duplicated(in *Input) {
	in.Spec.Placement.ReplicaScheduling = nil
	for i := range in.Spec.Clusters {
		in.Spec.Clusters[i].Replicas = in.Spec.Replicas
	}
}

func failover(change func(*policyv1alpha1.ApplicationFailoverBehavior)) func(*Input) {
	return func(in *Input) {
		rule := &policyv1alpha1.ApplicationFailoverBehavior{DecisionConditions: policyv1alpha1.DecisionConditions{TolerationSeconds: new(int32(60))}}
		if change != nil {
			change(rule)
		}
		in.Spec.Failover = &policyv1alpha1.FailoverBehavior{Application: rule}
	}
}

func unhealthySince(cluster string, at int) func(*Input) {
	return func(in *Input) {
		report(cluster, workv1alpha1.Unhealthy, 0)(in)
		if in.Memory.Unhealthy == nil {
			in.Memory.Unhealthy = map[string]time.Time{}
		}
		in.Memory.Unhealthy[cluster], in.Memory.Template = second(at), "7"
	}
}
