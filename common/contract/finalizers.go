package contract

// Finalizers.
const (
	// ClusterFinalizer, on a Cluster, is removed by the hub once the execution namespace is gone.
	ClusterFinalizer = "karmada.io/cluster-controller"
	// ExecutionFinalizer, on a Work, is removed by the agent once it has handled the member's objects.
	ExecutionFinalizer = "karmada.io/execution-controller"
	// BindingFinalizer, on a ResourceBinding, is removed by the hub once its Works are deleted.
	BindingFinalizer = "karmada.io/binding-controller"
	// ClusterBindingFinalizer is BindingFinalizer for a ClusterResourceBinding.
	ClusterBindingFinalizer = "karmada.io/cluster-resource-binding-controller"
	// DependenciesFinalizer, on a binding whose dependencies follow it, is removed once they no longer do.
	DependenciesFinalizer = "karmada.io/binding-dependencies-distributor"
	// ReplicasFinalizer, on the binding of a HorizontalPodAutoscaler, is removed once its scale target is no longer
	// marked because of it. It is Fairlead's own.
	ReplicasFinalizer = "fairlead.dev/replicas"
	// QuotaFinalizer, on a FederatedResourceQuota, is removed once the Works with its parts are deleted. It is
	// Fairlead's own.
	QuotaFinalizer = "fairlead.dev/quotas"
	// PropagationPolicyFinalizer, on a PropagationPolicy, is removed once its claims are.
	PropagationPolicyFinalizer = "karmada.io/propagation-policy-controller"
	// ClusterPropagationPolicyFinalizer is the finalizer of a ClusterPropagationPolicy.
	ClusterPropagationPolicyFinalizer = "karmada.io/cluster-propagation-policy-controller"
)
