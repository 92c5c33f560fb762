package v1alpha1

import corev1 "k8s.io/api/core/v1"

// Placement says which clusters, and how replicas are shared among them.
type Placement struct {
	// ClusterAffinity picks the clusters. It excludes clusterAffinities.
	// +optional
	ClusterAffinity *ClusterAffinity `json:"clusterAffinity,omitempty"`

	// ClusterAffinities are groups of clusters in order of preference: the first
	// group that the application fits into is used.
	// +optional
	ClusterAffinities []ClusterAffinityTerm `json:"clusterAffinities,omitempty"`

	// ClusterTolerations are the taints of clusters that the application accepts.
	// +optional
	ClusterTolerations []corev1.Toleration `json:"clusterTolerations,omitempty"`

	// SpreadConstraints spread the application over clusters, regions, zones,
	// providers or values of a label.
	// +optional
	SpreadConstraints []SpreadConstraint `json:"spreadConstraints,omitempty"`

	// ReplicaScheduling says how the replicas of a workload are shared among the
	// clusters. Absent means that every cluster gets all of them.
	// +optional
	ReplicaScheduling *ReplicaSchedulingStrategy `json:"replicaScheduling,omitempty"`

	// WorkloadAffinity keeps workloads of the same group together or apart.
	// +optional
	WorkloadAffinity *WorkloadAffinity `json:"workloadAffinity,omitempty"`
}

// ClusterAffinityTerm is one named group of clusters.
type ClusterAffinityTerm struct {
	// AffinityName is how the group is called in statuses.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	AffinityName string `json:"affinityName"`

	ClusterAffinity `json:",inline"`

	// OverflowAffinities are further groups, used in order for the replicas that do
	// not fit into this one.
	// +optional
	OverflowAffinities []OverflowAffinityTerm `json:"overflowAffinities,omitempty"`
}

// OverflowAffinityTerm is one named group of clusters for what does not fit
// elsewhere.
type OverflowAffinityTerm struct {
	// AffinityName is how the group is called in statuses.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	AffinityName string `json:"affinityName"`

	ClusterAffinity `json:",inline"`
}

// SpreadField is a field of a Cluster by which applications are spread.
type SpreadField string

// Values of SpreadField.
const (
	SpreadByCluster  SpreadField = "cluster"
	SpreadByRegion   SpreadField = "region"
	SpreadByZone     SpreadField = "zone"
	SpreadByProvider SpreadField = "provider"
)

// SpreadConstraint says over how many groups of clusters an application is spread.
type SpreadConstraint struct {
	// SpreadByField groups clusters by a field. It excludes spreadByLabel.
	// +optional
	// +kubebuilder:validation:Enum=cluster;region;zone;provider
	SpreadByField SpreadField `json:"spreadByField,omitempty"`

	// SpreadByLabel groups clusters by the value of this label.
	// +optional
	SpreadByLabel string `json:"spreadByLabel,omitempty"`

	// MaxGroups is the most groups to use; 0 sets no limit.
	// +optional
	MaxGroups int `json:"maxGroups,omitempty"`

	// MinGroups is the fewest groups to use.
	// +optional
	MinGroups int `json:"minGroups,omitempty"`
}

// ReplicaSchedulingType says whether replicas are copied or shared.
type ReplicaSchedulingType string

// Values of ReplicaSchedulingType.
const (
	Duplicated ReplicaSchedulingType = "Duplicated"
	Divided    ReplicaSchedulingType = "Divided"
)

// ReplicaDivisionPreference says how shared replicas are divided.
type ReplicaDivisionPreference string

// Values of ReplicaDivisionPreference.
const (
	Aggregated ReplicaDivisionPreference = "Aggregated"
	Weighted   ReplicaDivisionPreference = "Weighted"
)

// ReplicaSchedulingStrategy says how many replicas each cluster gets.
type ReplicaSchedulingStrategy struct {
	// ReplicaSchedulingType Duplicated gives every cluster all replicas; Divided
	// shares them.
	// +optional
	// +kubebuilder:default=Divided
	// +kubebuilder:validation:Enum=Duplicated;Divided
	ReplicaSchedulingType ReplicaSchedulingType `json:"replicaSchedulingType,omitempty"`

	// ReplicaDivisionPreference Aggregated uses as few clusters as possible;
	// Weighted divides by weights, which is also what empty means.
	// +optional
	// +kubebuilder:validation:Enum=Aggregated;Weighted
	ReplicaDivisionPreference ReplicaDivisionPreference `json:"replicaDivisionPreference,omitempty"`

	// WeightPreference gives the weights. Absent means equal weights.
	// +optional
	WeightPreference *ClusterPreferences `json:"weightPreference,omitempty"`

	// ReplicaBounds are the fewest and the most replicas of clusters, where replicas are
	// divided by static weights. Absent sets none.
	// +optional
	ReplicaBounds []ClusterReplicaBounds `json:"replicaBounds,omitempty"`
}

// ClusterReplicaBounds are the fewest and the most replicas of each of the clusters that an
// affinity matches. When several entries match a cluster the largest minimum and the smallest
// maximum are in force; a maximum prevails over a minimum.
type ClusterReplicaBounds struct {
	// TargetCluster picks the clusters. Those without a weight get nothing, whatever their
	// minimum is.
	// +required
	TargetCluster ClusterAffinity `json:"targetCluster"`

	// MinReplicas is the number of replicas that each of these clusters gets before the rest is divided. If there are too few replicas for
	// all minimums, they are divided by the weights, up to the minimums.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MinReplicas int32 `json:"minReplicas,omitempty"`

	// MaxReplicas is the most that each of these clusters gets; absent sets no limit. What no
	// cluster may take is placed nowhere, and condition Scheduled of the binding says how much.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxReplicas *int32 `json:"maxReplicas,omitempty"`
}

// DynamicWeightFactor is the quantity that dynamic weights are proportional to.
type DynamicWeightFactor string

// DynamicWeightByAvailableReplicas weighs a cluster by how many replicas still fit.
const DynamicWeightByAvailableReplicas DynamicWeightFactor = "AvailableReplicas"

// ClusterPreferences gives the weights of clusters.
type ClusterPreferences struct {
	// StaticWeightList gives fixed weights. A cluster that no entry matches gets
	// nothing, unless no entry matches any cluster.
	// +optional
	StaticWeightList []StaticClusterWeight `json:"staticWeightList,omitempty"`

	// DynamicWeight computes the weights; it takes precedence over the list.
	// +optional
	// +kubebuilder:validation:Enum=AvailableReplicas
	DynamicWeight DynamicWeightFactor `json:"dynamicWeight,omitempty"`
}

// StaticClusterWeight is the weight of the clusters that an affinity matches.
type StaticClusterWeight struct {
	// TargetCluster picks the clusters. When several entries pick a cluster its
	// weight is the largest of theirs.
	// +required
	TargetCluster ClusterAffinity `json:"targetCluster"`

	// Weight is the share of each of these clusters, relative to the others.
	// +required
	// +kubebuilder:validation:Minimum=1
	Weight int64 `json:"weight"`
}

// WorkloadAffinity keeps workloads together or apart, by a label of the template.
type WorkloadAffinity struct {
	// Affinity places workloads that have the same value of the label on the same
	// clusters.
	// +optional
	Affinity *WorkloadAffinityTerm `json:"affinity,omitempty"`

	// AntiAffinity places workloads that have the same value of the label on
	// different clusters.
	// +optional
	AntiAffinity *WorkloadAntiAffinityTerm `json:"antiAffinity,omitempty"`
}

// WorkloadAffinityTerm names the label that groups workloads.
type WorkloadAffinityTerm struct {
	// GroupByLabelKey is the key of the template's label.
	// +required
	GroupByLabelKey string `json:"groupByLabelKey"`
}

// WorkloadAntiAffinityTerm names the label that groups workloads.
type WorkloadAntiAffinityTerm struct {
	// GroupByLabelKey is the key of the template's label.
	// +required
	GroupByLabelKey string `json:"groupByLabelKey"`
}
