package apiserver

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/manifests"
)

// How long Install waits until the admission policies are in force, and how often it checks. Each check costs an
// admission, and most starts wait for seconds: see awaitPolicies.
const (
	inForceTimeout = 30 * time.Second
	inForcePoll    = 200 * time.Millisecond
)

// awaitPolicies waits until the API server enforces the admission policies. It reads the policies about once a second,
// and every five seconds the schemas for defaulting, one group at a time; until it has both a mutating policy and the
// schema of an object, it rejects that object as unavailable. The hub works without the policies, so if they do not
// come into force in time, that is only logged.
func (i *installer) awaitPolicies(ctx context.Context) error {
	waiting, cancel := context.WithTimeout(ctx, inForceTimeout)
	defer cancel()
	for _, p := range i.probes() {
		var last error
		err := wait.PollUntilContextCancel(waiting, inForcePoll, true, func(ctx context.Context) (bool, error) {
			obj := p.object()
			last = i.hubClient.Create(ctx, obj, client.DryRunAll, client.FieldOwner(contract.FieldManagerInstall))
			return p.shows(obj, last) || apierrors.IsForbidden(last), nil
		})
		if err != nil && ctx.Err() == nil {
			ctrl.LoggerFrom(ctx).Info("The API server does not go by an admission policy yet", "kind", fmt.Sprintf("%T", p.object()),
				"after", inForceTimeout.String(), "reason", last)
		}
	}
	return ctx.Err()
}

// probe is an object for which the result of a dry run shows whether a policy is in force.
type probe struct {
	object func() client.Object
	// shows says whether the result of a dry-run create shows the effect of the policy.
	shows func(answer client.Object, err error) bool
}

// probes returns a probe for each kind that a mutating policy matches, and one for the validating policies, which come
// into force together.
func (i *installer) probes() []probe {
	named := metav1.ObjectMeta{Namespace: contract.ClusterNamespace, Name: "fairlead-probe"}
	global := metav1.ObjectMeta{Name: named.Name}
	nothing := workv1alpha2.ObjectReference{APIVersion: "v1", Kind: "Secret", Name: named.Name}
	secrets := []policyv1alpha1.ResourceSelector{{APIVersion: "v1", Kind: "Secret"}}
	refused := probe{
		object: func() client.Object {
			return &policyv1alpha1.PropagationPolicy{ObjectMeta: named, Spec: policyv1alpha1.PropagationSpec{
				ResourceSelectors: secrets, Preemption: policyv1alpha1.PreemptAlways,
			}}
		},
		shows: func(_ client.Object, err error) bool {
			return err != nil && strings.Contains(err.Error(), "propagation-policies.fairlead.dev")
		},
	}
	if !i.mutates {
		return []probe{refused}
	}
	return []probe{
		mutationProbe(&policyv1alpha1.PropagationPolicy{ObjectMeta: named, Spec: policyv1alpha1.PropagationSpec{ResourceSelectors: secrets}},
			func(p *policyv1alpha1.PropagationPolicy) bool { return p.Spec.ResourceSelectors[0].Namespace != "" }),
		mutationProbe(&policyv1alpha1.ClusterPropagationPolicy{ObjectMeta: global, Spec: policyv1alpha1.PropagationSpec{
			ResourceSelectors: secrets, Placement: policyv1alpha1.Placement{SpreadConstraints: []policyv1alpha1.SpreadConstraint{{}}},
		}}, func(p *policyv1alpha1.ClusterPropagationPolicy) bool {
			return p.Spec.Placement.SpreadConstraints[0].SpreadByField != ""
		}),
		mutationProbe(&policyv1alpha1.OverridePolicy{ObjectMeta: named, Spec: policyv1alpha1.OverrideSpec{ResourceSelectors: secrets}},
			func(p *policyv1alpha1.OverridePolicy) bool { return p.Spec.ResourceSelectors[0].Namespace != "" }),
		mutationProbe(&clusterv1alpha1.Cluster{ObjectMeta: global, Spec: clusterv1alpha1.ClusterSpec{SyncMode: clusterv1alpha1.Pull, Zone: named.Name}},
			func(c *clusterv1alpha1.Cluster) bool { return c.Spec.Zone == "" }),
		mutationProbe(&workv1alpha1.Work{ObjectMeta: named, Spec: workv1alpha1.WorkSpec{SuspendDispatching: new(true)}},
			func(w *workv1alpha1.Work) bool { return len(w.ManagedFields) == 0 }),
		mutationProbe(&workv1alpha2.ResourceBinding{ObjectMeta: named, Spec: workv1alpha2.ResourceBindingSpec{Resource: nothing}},
			func(b *workv1alpha2.ResourceBinding) bool { return len(b.ManagedFields) == 0 }),
		mutationProbe(&workv1alpha2.ClusterResourceBinding{ObjectMeta: global, Spec: workv1alpha2.ResourceBindingSpec{Resource: nothing}},
			func(b *workv1alpha2.ClusterResourceBinding) bool { return len(b.ManagedFields) == 0 }),
		refused,
	}
}

// mutationProbe returns a probe for a mutating policy; done says whether the response was mutated.
func mutationProbe[T interface {
	client.Object
	DeepCopy() T
}](obj T, done func(T) bool,
) probe {
	return probe{
		object: func() client.Object { return obj.DeepCopy() },
		shows: func(answer client.Object, err error) bool {
			typed, ok := answer.(T)
			return err == nil && ok && done(typed)
		},
	}
}

func (i *installer) policies(ctx context.Context) error {
	objects, err := manifests.Policies()
	if err != nil {
		return err
	}
	for _, obj := range objects {
		if err := setExclusions(obj, i.exclusions); err != nil {
			return err
		}
		err := i.apply(ctx, obj)
		if meta.IsNoMatchError(err) && strings.HasPrefix(obj.GetKind(), "MutatingAdmissionPolicy") {
			err = i.mutating(ctx, obj)
		}
		if meta.IsNoMatchError(err) {
			return fmt.Errorf("the hub's API server has no validating admission policies; use Kubernetes 1.30 or newer: %w", err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// retire removes, by name, what earlier versions installed and this one does not have.
func (i *installer) retire(ctx context.Context) error {
	for _, kind := range []string{"ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy"} {
		obj := &unstructured.Unstructured{}
		obj.SetAPIVersion("admissionregistration.k8s.io/v1")
		obj.SetKind(kind)
		obj.SetName(retiredPolicy)
		if err := i.hubClient.Delete(ctx, obj); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("removing %s %q of a former version: %w", kind, retiredPolicy, err)
		}
	}
	return nil
}

// retiredPolicy warned the authors of kinds that the hub stored without acting on them.
const retiredPolicy = "not-acted-on.fairlead.dev"

// mutating applies an object of a mutating admission policy to an API server that does not serve the newest version of
// its kind. If it serves none, the policy is omitted: it only makes visible what the hub does anyway.
func (i *installer) mutating(ctx context.Context, obj *unstructured.Unstructured) error {
	older := obj.DeepCopy()
	older.SetAPIVersion("admissionregistration.k8s.io/v1beta1")
	err := i.apply(ctx, older)
	if meta.IsNoMatchError(err) {
		i.mutates = false
		ctrl.LoggerFrom(ctx).V(1).Info("Storing policies without their defaults, the API server has no mutating admission policies", "name", obj.GetName())
		return nil
	}
	return err
}
