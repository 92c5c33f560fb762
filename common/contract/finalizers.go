package contract

// Finalizers.
const (
	// ClusterFinalizer, on a Cluster, is removed by the hub once the execution
	// namespace is gone.
	ClusterFinalizer = "karmada.io/cluster-controller"
	// ExecutionFinalizer, on a Work, is removed by the agent once it has dealt with
	// the member's objects.
	ExecutionFinalizer = "karmada.io/execution-controller"
	// BindingFinalizer, on a ResourceBinding, is removed by the hub once its Works
	// are deleted.
	BindingFinalizer = "karmada.io/binding-controller"
	// ClusterBindingFinalizer is BindingFinalizer for a ClusterResourceBinding.
	ClusterBindingFinalizer = "karmada.io/cluster-resource-binding-controller"
	// DependenciesFinalizer, on a binding whose workload lets others follow it, is removed
	// once they do not any more.
	DependenciesFinalizer = "karmada.io/binding-dependencies-distributor"
	// ReplicasFinalizer, on the binding of a HorizontalPodAutoscaler, is removed once what it
	// scales is not marked for it any more. It is ours.
	ReplicasFinalizer = "fairlead.dev/replicas"
	// QuotaFinalizer, on a FederatedResourceQuota, is removed once the Works are deleted by
	// which its parts came to members. It is ours.
	QuotaFinalizer = "fairlead.dev/quotas"
	// PropagationPolicyFinalizer, on a PropagationPolicy, is removed once its claims
	// are.
	PropagationPolicyFinalizer = "karmada.io/propagation-policy-controller"
	// ClusterPropagationPolicyFinalizer is the finalizer of a ClusterPropagationPolicy.
	ClusterPropagationPolicyFinalizer = "karmada.io/cluster-propagation-policy-controller"
)
