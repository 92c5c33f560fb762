package eventsink

import (
	"context"
	"errors"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"fairlead.dev/common/kube"
)

// refusing answers every event with an error.
type refusing struct {
	events.EventSink
	err error
}

func (r refusing) Create(context.Context, *eventsv1.Event) (*eventsv1.Event, error) {
	return nil, r.err
}

func ending() error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden,
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}},
	}}
}

func TestAnEventGoesWithItsNamespace(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, "e", broken)
	for name, tc := range map[string]struct{ err, want error }{
		"the namespace is gone":    {err: apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "shop")},
		"the namespace is going":   {err: ending()},
		"who tells has no rights":  {err: forbidden, want: forbidden},
		"the server does not want": {err: broken, want: broken},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			_, err := eventWriter{refusing{err: tc.err}}.Create(t.Context(), &eventsv1.Event{})
			if tc.want == nil {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(tc.want))
			}
		})
	}
}

func TestWhatGoesOrIsYetToComeIsTriedAgainQuietlyAndLater(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"a kind that the API does not serve": &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "example.com", Kind: "Shop"}},
		"a namespace that is about to go":    ending(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			failure := err
			quiet := kube.QuietConflicts(reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) { return reconcile.Result{}, failure }))
			first, err := quiet.Reconcile(t.Context(), reconcile.Request{})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(first.RequeueAfter).To(BeNumerically(">", 0))
			second, err := quiet.Reconcile(t.Context(), reconcile.Request{})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(second.RequeueAfter).To(BeNumerically(">", first.RequeueAfter))
			failure = nil
			_, err = quiet.Reconcile(t.Context(), reconcile.Request{})
			g.Expect(err).NotTo(HaveOccurred())
			failure = ending()
			again, err := quiet.Reconcile(t.Context(), reconcile.Request{})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(again.RequeueAfter).To(Equal(first.RequeueAfter), "it was well in between")
		})
	}
}
