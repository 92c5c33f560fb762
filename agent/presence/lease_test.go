package presence

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/contract"
)

// leases is a hub that takes some annotations on leases, and refuses others.
type leases struct {
	client.Client

	takes    []string
	got      []map[string]string
	answered map[string]string
}

// Patch implements client.Client.
func (l *leases) Patch(_ context.Context, obj client.Object, patch client.Patch, _ ...client.PatchOption) error {
	data, err := patch.Data(obj)
	if err != nil {
		return err
	}
	var sent metav1.PartialObjectMetadata
	if err := json.Unmarshal(data, &sent); err != nil {
		return err
	}
	l.got = append(l.got, sent.Annotations)
	for key, value := range sent.Annotations {
		if !slices.Contains(l.takes, key) {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, "edge-1", errors.New(key))
		}
		l.answered[key] = value
	}
	obj.SetAnnotations(l.answered)
	return nil
}

func TestAnOlderHubIsNotToldWhatItRefuses(t *testing.T) {
	t.Parallel()
	both := []string{contract.SessionAnnotation, contract.AgentVersionAnnotation}
	all := append([]string{contract.TrustAnnotation, contract.IssuerAnnotation}, both...)
	for name, tc := range map[string]struct {
		takes []string
		want  map[string]string
		tries int
	}{
		"a hub that knows of all": {all, map[string]string{
			contract.SessionAnnotation: "s", contract.AgentVersionAnnotation: "v1", contract.TrustAnnotation: "a,b", contract.IssuerAnnotation: "a",
		}, 2},
		"a hub that knows of versions": {both, map[string]string{contract.SessionAnnotation: "s", contract.AgentVersionAnnotation: "v1"}, 3},
		"an older hub":                 {both[:1], map[string]string{contract.SessionAnnotation: "s"}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			hub := &leases{takes: tc.takes, answered: map[string]string{}}
			r := &leaseRenewer{
				hubClient: hub, cluster: "edge-1", session: "s", version: "v1", duration: time.Minute, interval: time.Minute,
				trust: func() Trust { return Trust{Authorities: []string{"a", "b"}, Issuer: "a"} },
				clock: clocktesting.NewFakeClock(time.Now()),
			}
			g.Expect(r.renew(t.Context())).To(Succeed(), "it is heard from")
			g.Expect(r.renew(t.Context())).To(Succeed())
			g.Expect(hub.answered).To(Equal(tc.want))
			g.Expect(hub.got).To(HaveLen(tc.tries))
			g.Expect(hub.got[tc.tries-1]).To(BeEmpty(), "what was told is not told again")
		})
	}
	t.Run("what a hub refuses for a moment is told a minute later", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		hub := &leases{takes: both[:1], answered: map[string]string{}}
		now := clocktesting.NewFakeClock(time.Now())
		r := &leaseRenewer{
			hubClient: hub, cluster: "edge-1", session: "s", version: "v1", duration: time.Minute, interval: time.Minute,
			trust: func() Trust { return Trust{Authorities: []string{"a", "b"}, Issuer: "a"} }, clock: now,
		}
		g.Expect(r.renew(t.Context())).To(Succeed())
		g.Expect(hub.answered).NotTo(HaveKey(contract.TrustAnnotation))
		hub.takes = all
		g.Expect(r.renew(t.Context())).To(Succeed())
		g.Expect(hub.answered).NotTo(HaveKey(contract.TrustAnnotation), "an older hub is not asked each time")
		now.Step(refusedFor)
		g.Expect(r.renew(t.Context())).To(Succeed())
		g.Expect(hub.answered).To(And(HaveKeyWithValue(contract.TrustAnnotation, "a,b"), HaveKeyWithValue(contract.AgentVersionAnnotation, "v1")))
	})
	t.Run("what changes is told again", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		hub := &leases{takes: all, answered: map[string]string{}}
		trust := Trust{Authorities: []string{"a"}, Issuer: "a"}
		r := &leaseRenewer{
			hubClient: hub, cluster: "edge-1", session: "s", interval: time.Minute, clock: clocktesting.NewFakeClock(time.Now()),
			trust: func() Trust { return trust },
		}
		g.Expect(r.renew(t.Context())).To(Succeed())
		trust.Authorities = []string{"a", "b"}
		g.Expect(r.renew(t.Context())).To(Succeed())
		g.Expect(hub.got[1]).To(Equal(map[string]string{contract.TrustAnnotation: "a,b"}))
	})
	t.Run("what the pod before told stands until there is more to tell", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		hub := &leases{takes: all, answered: map[string]string{contract.TrustAnnotation: "a,b", contract.IssuerAnnotation: "a"}}
		r := &leaseRenewer{
			hubClient: hub, cluster: "edge-1", session: "s", interval: time.Minute, clock: clocktesting.NewFakeClock(time.Now()),
			trust: func() Trust { return Trust{} },
		}
		g.Expect(r.renew(t.Context())).To(Succeed())
		g.Expect(r.renew(t.Context())).To(Succeed())
		for _, told := range hub.got {
			g.Expect(told).NotTo(HaveKey(contract.TrustAnnotation))
			g.Expect(told).NotTo(HaveKey(contract.IssuerAnnotation))
		}
	})
	t.Run("a hub that did not know yet who may do what", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		hub := &leases{answered: map[string]string{}}
		r := &leaseRenewer{
			hubClient: hub, cluster: "edge-1", session: "s", version: "v1", interval: time.Minute, clock: clocktesting.NewFakeClock(time.Now()),
			trust: func() Trust { return Trust{Authorities: []string{"a"}, Issuer: "a"} },
		}
		g.Expect(r.renew(t.Context())).NotTo(Succeed())
		hub.takes = all
		g.Expect(r.renew(t.Context())).To(Succeed())
		g.Expect(hub.answered).To(HaveLen(len(all)), "it is told everything then")
	})
	t.Run("a hub that refuses all", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		hub := &leases{answered: map[string]string{}}
		r := &leaseRenewer{hubClient: hub, cluster: "edge-1", session: "s", version: "v1", interval: time.Minute, clock: clocktesting.NewFakeClock(time.Now())}
		g.Expect(r.renew(t.Context())).To(MatchError(ContainSubstring("renewing the lease")))
		g.Expect(hub.got).To(HaveLen(2))
	})
}
