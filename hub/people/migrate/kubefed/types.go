package kubefed

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Groups of KubeFed's kinds.
const (
	groupCore       = "core.kubefed.io"
	groupTypes      = "types.kubefed.io"
	groupScheduling = "scheduling.kubefed.io"
)

// Labels and annotations of KubeFed.
const (
	orphanAnnotation       = "kubefed.io/orphan"
	deleteOptionAnnotation = "kubefed.io/deleteoption"
	managedLabel           = "kubefed.io/managed"
)

// The types below have all fields that KubeFed knows; any other field is an error.

// meta has the fields of every object.
type meta struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   any    `json:"metadata"`
	Status     any    `json:"status"`
}

// apiResource identifies a kind.
type apiResource struct {
	Group      string `json:"group"`
	Version    string `json:"version"`
	Kind       string `json:"kind"`
	PluralName string `json:"pluralName"`
	Scope      string `json:"scope"`
}

type federatedTypeConfig struct {
	meta `json:",inline"`
	Spec struct {
		TargetType       apiResource  `json:"targetType"`
		Propagation      string       `json:"propagation"`
		FederatedType    apiResource  `json:"federatedType"`
		StatusType       *apiResource `json:"statusType"`
		StatusCollection *string      `json:"statusCollection"`
	} `json:"spec"`
}

type kubeFedCluster struct {
	meta   `json:",inline"`
	Status kubeFedClusterStatus `json:"status"`
	Spec   struct {
		APIEndpoint            string    `json:"apiEndpoint"`
		CABundle               []byte    `json:"caBundle"`
		SecretRef              secretRef `json:"secretRef"`
		ProxyURL               string    `json:"proxyURL"`
		DisabledTLSValidations []string  `json:"disabledTLSValidations"`
	} `json:"spec"`
}

type secretRef struct {
	Name string `json:"name"`
}

type kubeFedClusterStatus struct {
	Conditions        []clusterCondition `json:"conditions"`
	Zones             []string           `json:"zones"`
	Region            string             `json:"region"`
	KubernetesVersion string             `json:"kubernetesVersion"`
}

type clusterCondition struct {
	Type               string  `json:"type"`
	Status             string  `json:"status"`
	LastProbeTime      any     `json:"lastProbeTime"`
	LastTransitionTime any     `json:"lastTransitionTime"`
	Reason             *string `json:"reason"`
	Message            *string `json:"message"`
}

type kubeFedConfig struct {
	meta `json:",inline"`
	Spec struct {
		Scope              string `json:"scope"`
		ControllerDuration struct {
			AvailableDelay   string `json:"availableDelay"`
			UnavailableDelay string `json:"unavailableDelay"`
			CacheSyncTimeout string `json:"cacheSyncTimeout"`
		} `json:"controllerDuration"`
		LeaderElect struct {
			LeaseDuration string `json:"leaseDuration"`
			RenewDeadline string `json:"renewDeadline"`
			RetryPeriod   string `json:"retryPeriod"`
			ResourceLock  string `json:"resourceLock"`
		} `json:"leaderElect"`
		FeatureGates []struct {
			Name          string `json:"name"`
			Configuration string `json:"configuration"`
		} `json:"featureGates"`
		ClusterHealthCheck struct {
			Period           string `json:"period"`
			FailureThreshold int64  `json:"failureThreshold"`
			SuccessThreshold int64  `json:"successThreshold"`
			Timeout          string `json:"timeout"`
		} `json:"clusterHealthCheck"`
		SyncController struct {
			MaxConcurrentReconciles int64  `json:"maxConcurrentReconciles"`
			AdoptResources          string `json:"adoptResources"`
		} `json:"syncController"`
		StatusController struct {
			MaxConcurrentReconciles int64 `json:"maxConcurrentReconciles"`
		} `json:"statusController"`
	} `json:"spec"`
}

// federated is an object of a federated kind.
type federated struct {
	meta `json:",inline"`
	Spec struct {
		Template       map[string]any    `json:"template"`
		Placement      placement         `json:"placement"`
		Overrides      []clusterOverride `json:"overrides"`
		RetainReplicas bool              `json:"retainReplicas"`
	} `json:"spec"`
}

type placement struct {
	// Clusters makes the selector irrelevant, even if the list is empty.
	Clusters        *[]clusterReference   `json:"clusters"`
	ClusterSelector *metav1.LabelSelector `json:"clusterSelector"`
}

type clusterReference struct {
	Name string `json:"name"`
}

type clusterOverride struct {
	ClusterName      string     `json:"clusterName"`
	ClusterOverrides []override `json:"clusterOverrides"`
}

type override struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// replicaPreference is a ReplicaSchedulingPreference.
type replicaPreference struct {
	meta `json:",inline"`
	Spec struct {
		TargetKind                   string                       `json:"targetKind"`
		TotalReplicas                int32                        `json:"totalReplicas"`
		Rebalance                    bool                         `json:"rebalance"`
		IntersectWithClusterSelector bool                         `json:"intersectWithClusterSelector"`
		Clusters                     map[string]clusterPreference `json:"clusters"`
	} `json:"spec"`
}

type clusterPreference struct {
	MinReplicas int64  `json:"minReplicas"`
	MaxReplicas *int64 `json:"maxReplicas"`
	Weight      int64  `json:"weight"`
}

// deleteOptions are the options in the annotation.
type deleteOptions struct {
	Kind               string   `json:"kind"`
	APIVersion         string   `json:"apiVersion"`
	GracePeriodSeconds *int64   `json:"gracePeriodSeconds"`
	Preconditions      any      `json:"preconditions"`
	OrphanDependents   *bool    `json:"orphanDependents"`
	PropagationPolicy  *string  `json:"propagationPolicy"`
	DryRun             []string `json:"dryRun"`
}
