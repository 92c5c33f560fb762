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
	// PropagationPolicyFinalizer, on a PropagationPolicy, is removed once its claims
	// are.
	PropagationPolicyFinalizer = "karmada.io/propagation-policy-controller"
	// ClusterPropagationPolicyFinalizer is that of a ClusterPropagationPolicy.
	ClusterPropagationPolicyFinalizer = "karmada.io/cluster-propagation-policy-controller"
)
