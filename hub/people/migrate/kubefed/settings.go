package kubefed

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/bootstrap"
	"fairlead.dev/hub/people/migrate/conversion"
)

// member is a KubeFedCluster.
type member struct {
	name   string
	labels map[string]string
	ready  bool
}

// config reads a KubeFedConfig.
func (c *converter) config(i *item) bool {
	if i.Object.GroupVersionKind().GroupKind() != (schema.GroupKind{Group: groupCore, Kind: "KubeFedConfig"}) {
		return false
	}
	var k kubeFedConfig
	if !i.decode(&k) {
		return true
	}
	spec := &k.Spec
	switch spec.Scope {
	case "Namespaced":
		c.options.Namespaced = true
		i.tell("spec.scope", "the placement of a namespace does not limit that of its objects")
	case "", "Cluster":
		if spec.Scope != "" {
			i.tell("spec.scope", "the objects of a namespace go only where its FederatedNamespace goes, unless --namespaced is given")
		}
	default:
		i.refuse("spec.scope", "%q must be Cluster or Namespaced", spec.Scope)
	}
	switch spec.SyncController.AdoptResources {
	case "Disabled":
		c.conflict = policyv1alpha1.ConflictAbort
		i.tell("spec.syncController.adoptResources", "policies have conflictResolution Abort. Objects that run in the members now are adopted only with Overwrite: set it for the switch")
	case "", "Enabled":
		if spec.SyncController.AdoptResources != "" {
			i.tell("spec.syncController.adoptResources", "policies have conflictResolution Overwrite")
		}
	default:
		i.refuse("spec.syncController.adoptResources", "%q must be Enabled or Disabled", spec.SyncController.AdoptResources)
	}
	c.replaceConfig(i, k)
	return true
}

// replaceConfig reports what replaces the rest of the configuration.
func (c *converter) replaceConfig(i *item, k kubeFedConfig) {
	spec := &k.Spec
	health := "the hub waits for the lease of each agent instead, see `hub serve --help`"
	for _, f := range []struct {
		field, instead string
		set            bool
	}{
		{"spec.controllerDuration.availableDelay", health, spec.ControllerDuration.AvailableDelay != ""},
		{"spec.controllerDuration.unavailableDelay", health, spec.ControllerDuration.UnavailableDelay != ""},
		{"spec.controllerDuration.cacheSyncTimeout", "left out: the hub waits without a limit", spec.ControllerDuration.CacheSyncTimeout != ""},
		{"spec.leaderElect.leaseDuration", leaderElection, spec.LeaderElect.LeaseDuration != ""},
		{"spec.leaderElect.renewDeadline", leaderElection, spec.LeaderElect.RenewDeadline != ""},
		{"spec.leaderElect.retryPeriod", leaderElection, spec.LeaderElect.RetryPeriod != ""},
		{"spec.leaderElect.resourceLock", leaderElection, spec.LeaderElect.ResourceLock != ""},
		{"spec.clusterHealthCheck.period", health, spec.ClusterHealthCheck.Period != ""},
		{"spec.clusterHealthCheck.failureThreshold", health, spec.ClusterHealthCheck.FailureThreshold != 0},
		{"spec.clusterHealthCheck.successThreshold", health, spec.ClusterHealthCheck.SuccessThreshold != 0},
		{"spec.clusterHealthCheck.timeout", health, spec.ClusterHealthCheck.Timeout != ""},
		{"spec.syncController.maxConcurrentReconciles", workers, spec.SyncController.MaxConcurrentReconciles != 0},
		{"spec.statusController.maxConcurrentReconciles", workers, spec.StatusController.MaxConcurrentReconciles != 0},
	} {
		if f.set {
			i.tell(f.field, "%s", f.instead)
		}
	}
	for n, gate := range spec.FeatureGates {
		i.tell(fmt.Sprintf("spec.featureGates[%d].name", n), "left out: what %s enables is always enabled", gate.Name)
		if gate.Configuration != "" {
			i.tell(fmt.Sprintf("spec.featureGates[%d].configuration", n), "left out with it")
		}
	}
}

// What replaces settings of KubeFed's processes.
const (
	leaderElection = "left out: the hub elects its leader by itself, see `hub serve --help`"
	workers        = "left out: every stage of the hub has its own workers"
)

// typeConfig reads a FederatedTypeConfig.
func (c *converter) typeConfig(i *item) bool {
	if i.Object.GroupVersionKind().GroupKind() != (schema.GroupKind{Group: groupCore, Kind: "FederatedTypeConfig"}) {
		return false
	}
	var k federatedTypeConfig
	if !i.decode(&k) {
		return true
	}
	to, from := k.Spec.TargetType, k.Spec.FederatedType
	for field, value := range map[string]string{
		"spec.targetType.kind": to.Kind, "spec.targetType.version": to.Version, "spec.federatedType.kind": from.Kind,
	} {
		if value == "" {
			i.refuse(field, "it names the kind, and is missing")
		}
	}
	for field, r := range map[string]apiResource{"spec.targetType": to, "spec.federatedType": from} {
		if r.Scope != "" && r.Scope != "Namespaced" && r.Scope != "Cluster" {
			i.refuse(field+".scope", "%q must be Cluster or Namespaced", r.Scope)
		}
		if r.PluralName != "" {
			i.tell(field+".pluralName", "left out: the API server knows it")
		}
		if r.Scope != "" {
			i.tell(field+".scope", "left out: the API server knows it")
		}
	}
	if from.Version != "" {
		i.tell("spec.federatedType.version", "left out: objects of every version are read")
	}
	t := target{gvk: schema.GroupVersionKind{Group: to.Group, Version: to.Version, Kind: to.Kind}, by: i.Object.GetName()}
	t.scope = scopeOf(to.Scope, t.gvk.GroupKind())
	switch k.Spec.Propagation {
	case "Disabled":
		t.suspended = true
		i.tell("spec.propagation", "policies of %s have suspension.dispatching", to.Kind)
	case "", "Enabled":
		if k.Spec.Propagation != "" {
			i.tell("spec.propagation", "left out: every object with a policy is propagated")
		}
	default:
		i.refuse("spec.propagation", "%q must be Enabled or Disabled", k.Spec.Propagation)
	}
	if k.Spec.StatusType != nil {
		i.tell("spec.statusType", "left out: status is always collected, on the template itself")
	}
	if k.Spec.StatusCollection != nil {
		i.tell("spec.statusCollection", "left out: status is always collected, on the template itself")
	}
	if i.refused {
		t.bad = fmt.Sprintf("its FederatedTypeConfig %s is refused", t.by)
	}
	c.federates(i, schema.GroupKind{Group: from.Group, Kind: from.Kind}, t)
	return true
}

// federates records the target of a federated kind. Each target may have one federated kind.
func (c *converter) federates(i *item, kind schema.GroupKind, t target) {
	for _, other := range slices.SortedFunc(maps.Keys(c.types), compareKinds) {
		had := c.types[other]
		if other != kind && had.gvk.GroupKind() != t.gvk.GroupKind() {
			continue
		}
		t.bad = fmt.Sprintf("%s and %s are two federated types of one target; remove one of them and the objects of its kind", had.by, t.by)
		had.bad = t.bad
		c.types[other] = had
		i.refuse("spec.targetType", "FederatedTypeConfig %s has the same target or federated type; remove one of the two", had.by)
	}
	c.types[kind] = t
}

// cluster reads a KubeFedCluster.
func (c *converter) cluster(i *item) bool {
	if i.Object.GroupVersionKind().GroupKind() != (schema.GroupKind{Group: groupCore, Kind: "KubeFedCluster"}) {
		return false
	}
	var k kubeFedCluster
	if !i.decode(&k) {
		return true
	}
	name := i.Object.GetName()
	for field, set := range map[string]bool{
		"spec.apiEndpoint": k.Spec.APIEndpoint != "", "spec.caBundle": len(k.Spec.CABundle) > 0, "spec.secretRef.name": k.Spec.SecretRef.Name != "",
		"spec.proxyURL": k.Spec.ProxyURL != "", "spec.disabledTLSValidations": len(k.Spec.DisabledTLSValidations) > 0,
	} {
		if set {
			i.tell(field, "left out: nothing dials the cluster, its agent dials the hub")
		}
	}
	if err := bootstrap.ValidateClusterName(name); err != nil {
		i.refuse("metadata.name", "%v here; let it join under another name, and write that into the placements", err)
	}
	m := member{name: name, labels: i.Object.GetLabels(), ready: true}
	for _, condition := range k.Status.Conditions {
		if condition.Type == "Ready" && condition.Status != "True" {
			m.ready = false
			i.tell("status.conditions", "the cluster is not Ready, so KubeFed gives it no share of replicas that are divided; neither does the conversion")
		}
	}
	c.clusters = append(c.clusters, m)
	if i.refused {
		return true
	}
	c.commands = append(c.commands, conversion.TokenCommand(conversion.Member{Name: name, Labels: m.labels, Region: k.Status.Region, Zones: k.Status.Zones}))
	return true
}

// finish completes the settings after all of them were read.
func (c *converter) finish() {
	slices.SortFunc(c.clusters, func(a, b member) int { return strings.Compare(a.name, b.name) })
}
