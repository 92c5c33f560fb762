package scenario

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/adjust/failover/evict"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/story"
)

// app is a template with its binding.
type app struct {
	name     string
	template *unstructured.Unstructured
	binding  *workv1alpha2.ResourceBinding
	// works are its Works, by cluster.
	works map[string]*workv1alpha1.Work
	// startup is how long a replica takes to become ready, grace the grace period of an old copy.
	startup, grace time.Duration
	// directly means that no second copy may run at any time; most is the maximum number of copies.
	directly bool
	most     int32
	// returns means that the application fails back to a preferred group.
	returns bool
	// allowed has the clusters in which its Work may be deleted, each with the reason.
	allowed map[string]string
	// deleted is the last deletion time per cluster.
	deleted map[string]time.Time
	// assigned has the share of each cluster and the time since when it has it.
	assigned map[string]share
}

type share struct {
	replicas int32
	since    time.Time
}

func (a *app) id() string { return "id-" + a.name }

// newApp parses an application.
func newApp(words []string) (*app, error) {
	o := story.Options(words[2:])
	name := words[1]
	replicas, err := strconv.ParseInt(o["replicas"], 10, 32)
	if err != nil {
		return nil, fmt.Errorf("app %s: replicas: %w", name, err)
	}
	template := builder.MakeDeployment("shop", name).Replicas(replicas).Obj()
	template.SetUID(types.UID("uid-" + name))
	a := &app{name: name, template: template, startup: 10 * time.Second, grace: evict.DefaultGrace, works: map[string]*workv1alpha1.Work{}, allowed: map[string]string{}, deleted: map[string]time.Time{}, assigned: map[string]share{}, most: int32(replicas)}
	b := &workv1alpha2.ResourceBinding{}
	b.Namespace, b.Name, b.Generation = "shop", name+"-deployment", 1
	b.Labels = map[string]string{contract.ResourceBindingPermanentIDLabel: a.id()}
	b.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: name, UID: template.GetUID(), ResourceVersion: "1"}
	b.Spec.Replicas = int32(replicas)
	a.binding = b
	if b.Spec.Placement, err = placement(o); err != nil {
		return nil, fmt.Errorf("app %s: %w", name, err)
	}
	if o["startup"] != "" {
		if a.startup, err = time.ParseDuration(o["startup"]); err != nil {
			return nil, err
		}
	}
	a.returns = o["returns"] == "true"
	a.directly = o["purge"] == "Directly" || o["failpurge"] == "Directly"
	if o["as"] == "duplicated" {
		a.most = 0
		if _, most, ok := strings.Cut(o["spread"], "-"); ok {
			n, _ := strconv.Atoi(most)
			a.most = int32(n) * int32(replicas)
		}
	}
	return a, a.failover(o)
}

func placement(o map[string]string) (*policyv1alpha1.Placement, error) {
	p := &policyv1alpha1.Placement{}
	switch o["as"] {
	case "", "divided":
		p.ReplicaScheduling = &policyv1alpha1.ReplicaSchedulingStrategy{ReplicaSchedulingType: policyv1alpha1.Divided, ReplicaDivisionPreference: policyv1alpha1.Weighted}
	case "aggregated":
		p.ReplicaScheduling = &policyv1alpha1.ReplicaSchedulingStrategy{ReplicaSchedulingType: policyv1alpha1.Divided, ReplicaDivisionPreference: policyv1alpha1.Aggregated}
	case "dynamic":
		p.ReplicaScheduling = &policyv1alpha1.ReplicaSchedulingStrategy{
			ReplicaSchedulingType: policyv1alpha1.Divided, ReplicaDivisionPreference: policyv1alpha1.Weighted,
			WeightPreference: &policyv1alpha1.ClusterPreferences{DynamicWeight: policyv1alpha1.DynamicWeightByAvailableReplicas},
		}
	case "duplicated":
	default:
		return nil, fmt.Errorf("as=%s is no way to share replicas", o["as"])
	}
	if on := o["on"]; on != "" {
		p.ClusterAffinity = &policyv1alpha1.ClusterAffinity{ClusterNames: strings.Split(on, ",")}
	}
	if groups := o["groups"]; groups != "" {
		for i, g := range strings.Split(groups, "/") {
			p.ClusterAffinities = append(p.ClusterAffinities, policyv1alpha1.ClusterAffinityTerm{
				AffinityName: fmt.Sprintf("group-%d", i+1), ClusterAffinity: policyv1alpha1.ClusterAffinity{ClusterNames: strings.Split(g, ",")},
			})
		}
	}
	if overflow := o["overflow"]; overflow != "" {
		for i, tier := range strings.Split(overflow, "/") {
			p.ClusterAffinities[0].OverflowAffinities = append(p.ClusterAffinities[0].OverflowAffinities, policyv1alpha1.OverflowAffinityTerm{
				AffinityName: fmt.Sprintf("overflow-%d", i+1), ClusterAffinity: policyv1alpha1.ClusterAffinity{ClusterNames: strings.Split(tier, ",")},
			})
		}
	}
	if spread := o["spread"]; spread != "" {
		var s policyv1alpha1.SpreadConstraint
		s.SpreadByField = policyv1alpha1.SpreadByCluster
		if _, err := fmt.Sscanf(spread, "%d-%d", &s.MinGroups, &s.MaxGroups); err != nil {
			return nil, fmt.Errorf("spread=%s: %w", spread, err)
		}
		p.SpreadConstraints = []policyv1alpha1.SpreadConstraint{s}
	}
	if t := o["tolerate"]; t != "" {
		d, err := time.ParseDuration(t)
		if err != nil {
			return nil, err
		}
		p.ClusterTolerations = []corev1.Toleration{{Key: "lost", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(d.Seconds()))}}
	}
	return p, nil
}

// put stores a Work.
func (a *app) put(work *workv1alpha1.Work) { a.works[clusterOf(work)] = work }

// failover parses the failover part of the policy.
func (a *app) failover(o map[string]string) error {
	f := &policyv1alpha1.FailoverBehavior{}
	if mode := o["purge"]; mode != "" {
		f.Cluster = &policyv1alpha1.ClusterFailoverBehavior{PurgeMode: policyv1alpha1.PurgeMode(mode)}
	}
	if after := o["failover"]; after != "" {
		d, err := time.ParseDuration(after)
		if err != nil {
			return err
		}
		f.Application = &policyv1alpha1.ApplicationFailoverBehavior{
			DecisionConditions: policyv1alpha1.DecisionConditions{TolerationSeconds: new(int32(d.Seconds()))}, PurgeMode: policyv1alpha1.PurgeMode(o["failpurge"]),
		}
		if g := o["grace"]; g != "" {
			d, err := time.ParseDuration(g)
			if err != nil {
				return err
			}
			f.Application.GracePeriodSeconds, a.grace = new(int32(d.Seconds())), d
		}
		if o["state"] == "true" {
			f.Application.StatePreservation = &policyv1alpha1.StatePreservation{Rules: []policyv1alpha1.StatePreservationRule{{AliasLabelName: "state", JSONPath: "{ .job }"}}}
		}
	}
	if f.Cluster != nil || f.Application != nil {
		a.binding.Spec.Failover = f
	}
	return nil
}

// seen returns the creation timestamp that an API server would set.
func seen(at time.Time) metav1.Time { return metav1.NewTime(at.Truncate(time.Second)) }
