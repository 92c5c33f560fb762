package execution

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/agent/execution/plan"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/interpreter"
)

func TestImmutable(t *testing.T) {
	t.Parallel()
	kind := schema.GroupKind{Kind: "Thing"}
	cases := map[string]struct {
		err  error
		want bool
	}{
		"an immutable field":    {apierrors.NewInvalid(kind, "x", field.ErrorList{field.Invalid(field.NewPath("spec", "selector"), "x", "field is immutable")}), true},
		"the role of a binding": {apierrors.NewInvalid(kind, "x", field.ErrorList{field.Invalid(field.NewPath("roleRef"), "x", "cannot change roleRef")}), true},
		"a stateful set":        {apierrors.NewInvalid(kind, "x", field.ErrorList{field.Forbidden(field.NewPath("spec"), "updates to statefulset spec for fields other than 'replicas' are forbidden")}), true},
		"a value that is wrong": {apierrors.NewInvalid(kind, "x", field.ErrorList{field.Invalid(field.NewPath("spec", "replicas"), -1, "must be greater than or equal to 0")}), false},
		"what would be refused anyway": {apierrors.NewInvalid(kind, "x", field.ErrorList{
			field.Invalid(field.NewPath("spec", "template", "metadata", "labels"), "x", "`selector` does not match template `labels`"),
			field.Invalid(field.NewPath("spec", "selector"), "x", "field is immutable"),
		}), false},
		"two immutable fields": {apierrors.NewInvalid(kind, "x", field.ErrorList{
			field.Forbidden(field.NewPath("spec"), "updates to statefulset spec for fields other than 'replicas' are forbidden"),
			field.Invalid(field.NewPath("spec", "selector"), "x", "field is immutable"),
		}), true},
		"a webhook that speaks of it": {apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "x", errors.New("images are immutable here")), false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(immutable(c.err)).To(Equal(c.want))
		})
	}
}

func TestClassify(t *testing.T) {
	t.Parallel()
	resource := schema.GroupResource{Resource: "configmaps"}
	terminating := apierrors.NewForbidden(resource, "a", nil)
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	cases := map[string]struct {
		err         error
		want        plan.Result
		wantMessage string
	}{
		"a kind that is not known":       {&meta.NoKindMatchError{}, plan.Waiting, "does not know the kind"},
		"a kind that is not there again": {apierrors.NewGenericServerResponse(404, "patch", resource, "a", "", 0, true), plan.Waiting, "does not know the kind"},
		"a namespace that is missing":    {apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "shop"), plan.Waiting, "does not exist"},
		"a namespace on its way out":     {terminating, plan.Waiting, "is being deleted"},
		"a conflict":                     {apierrors.NewConflict(resource, "a", nil), plan.Waiting, "being changed"},
		"another object of the name": {apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "a", field.ErrorList{
			field.Invalid(field.NewPath("metadata", "uid"), "x", "field is immutable"),
		}), plan.Waiting, "being changed"},
		"a list with a key twice": {
			&apierrors.StatusError{ErrStatus: metav1.Status{Code: 500, Message: `failed to create typed patch object (shop/web; apps/v1, Kind=Deployment): .spec.ports: duplicate entries for key [containerPort=80]`}},
			plan.Refused, "duplicate entries for key [containerPort=80]; elements of that list are told apart by this key: keep one",
		},
		"a field of a later Kubernetes": {
			&apierrors.StatusError{ErrStatus: metav1.Status{Code: 500, Message: `failed to create typed patch object (shop/j; batch/v1, Kind=Job): .spec.x: field not declared in schema`}},
			plan.Refused, ".spec.x: field not declared in schema; this member's version of the kind has no such field: upgrade the member, or remove the field",
		},
		"another refusal that speaks of fields": {
			&apierrors.StatusError{ErrStatus: metav1.Status{Code: 403, Message: "field not declared in schema"}}, plan.Refused, "the member refuses it: field not declared in schema",
		},
		"a busy server":        {apierrors.NewTooManyRequests("later", 1), plan.Unanswered, "busy"},
		"a server that starts": {apierrors.NewServiceUnavailable("starting"), plan.Unanswered, "busy"},
		"nobody there":         {fmt.Errorf("reading: %w", &url.Error{Op: "Patch", Err: syscall.ECONNREFUSED}), plan.Unanswered, "does not answer"},
		"an answer cut short":  {&url.Error{Op: "Get", Err: io.ErrUnexpectedEOF}, plan.Unanswered, "does not answer"},
		"a webhook that is not there": {
			fmt.Errorf("taking over what belongs to the member: %w", interpreter.Unanswered(fmt.Errorf("no answer; check its address: %w", &url.Error{Op: "Post", Err: syscall.ECONNREFUSED}))),
			plan.Waiting, "taking over what belongs to the member: no answer; check its address",
		},
		"a webhook that hangs": {interpreter.Unanswered(fmt.Errorf("no answer within 3s: %w", context.DeadlineExceeded)), plan.Waiting, "no answer within 3s"},
		"no right to":          {apierrors.NewForbidden(resource, "a", nil), plan.Refused, "the member refuses it"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got, message := classify(named("a"), tc.err)
			g.Expect(got).To(Equal(tc.want))
			g.Expect(message).To(ContainSubstring(tc.wantMessage))
		})
	}
}

func TestTold(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	work := &workv1alpha1.Work{}
	work.Generation = 2
	g.Expect(reported(work, workv1alpha1.WorkApplied)).To(BeFalse())
	work.Status.Conditions = []metav1.Condition{{Type: workv1alpha1.WorkApplied, ObservedGeneration: 1}}
	g.Expect(reported(work, workv1alpha1.WorkApplied)).To(BeFalse())
	work.Status.Conditions[0].ObservedGeneration = 2
	g.Expect(reported(work, workv1alpha1.WorkApplied)).To(BeTrue())
	g.Expect(reported(work, workv1alpha1.WorkDispatching)).To(BeFalse())
}
