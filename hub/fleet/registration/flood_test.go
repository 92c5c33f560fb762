package registration

import (
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"fairlead.dev/common/bootstrap"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/eventsink"
)

func TestTheRequestsOfATokenAreBounded(t *testing.T) {
	t.Parallel()
	const limit = spareRequests + requestsPerUse
	tests := map[string]struct {
		requests int
		uses     int
		every    time.Duration // time between two of them
		decided  bool
		left     int
		closed   bool
		why      string // the reason reported for that
	}{
		"a member that tries for hours":         {requests: limit + 30, uses: 1, every: 10 * time.Second, decided: true, left: limit},
		"as many as there may be":               {requests: limit, uses: 1, decided: true, left: limit},
		"a flood":                               {requests: limit + 100, uses: 1, every: time.Millisecond, left: limit, closed: true, why: "in a minute"},
		"a flood that is denied at once":        {requests: limit + 100, uses: 1, every: time.Millisecond, decided: true, left: limit, closed: true, why: "in a minute"},
		"a slow flood of what is not decided":   {requests: limit + 1, uses: 1, every: time.Hour, left: limit, closed: true, why: "are not decided"},
		"many members with a token for so many": {requests: 120, uses: 100, every: time.Millisecond, left: 120},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			scheme, err := kube.NewScheme()
			g.Expect(err).NotTo(HaveOccurred())
			start := time.Now().Truncate(time.Second)
			clock := clocktesting.NewFakePassiveClock(start)
			token, err := bootstrap.New(rand.Reader, "edge-*", start.Add(24*time.Hour))
			g.Expect(err).NotTo(HaveOccurred())
			token.MaxUses = tt.uses
			secret := bootstrap.NewSecret(token)
			secret.UID = "token"
			hub := fake.NewClientBuilder().WithScheme(scheme).WithObjects(secret).WithIndex(&certificatesv1.CertificateSigningRequest{}, requestsByUser, userOf).Build()
			var told []string
			r, err := New(hub, hub, Deps{ExecutionNamespacePrefix: "karmada-es-", Clock: clock, Events: func(e eventsink.Event) { told = append(told, e.Reason) }})
			g.Expect(err).NotTo(HaveOccurred())
			other := &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: "of-somebody-else", UID: "other"}}
			g.Expect(hub.Create(t.Context(), other)).To(Succeed())

			for i := range tt.requests {
				csr := &certificatesv1.CertificateSigningRequest{
					ObjectMeta: metav1.ObjectMeta{
						Name: fmt.Sprintf("r-%04d", i), UID: types.UID(fmt.Sprint(i)), CreationTimestamp: metav1.NewTime(clock.Now().Truncate(time.Second)),
					},
					Spec: certificatesv1.CertificateSigningRequestSpec{Username: contract.BootstrapUserPrefix + token.ID},
				}
				if tt.decided {
					csr.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateDenied, Status: corev1.ConditionTrue}}
				}
				g.Expect(hub.Create(t.Context(), csr)).To(Succeed())
				gone, err := r.bound(t.Context(), csr)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(client.IgnoreNotFound(hub.Get(t.Context(), client.ObjectKeyFromObject(csr), csr))).To(Succeed())
				g.Expect(gone).To(Equal(tt.closed && i >= limit))
				clock.SetTime(clock.Now().Add(tt.every))
			}
			var left certificatesv1.CertificateSigningRequestList
			g.Expect(hub.List(t.Context(), &left)).To(Succeed())
			g.Expect(left.Items).To(HaveLen(tt.left+1), "and that of somebody else")
			g.Expect(hub.Get(t.Context(), client.ObjectKeyFromObject(secret), secret)).To(Succeed())
			g.Expect(bootstrap.IsClosed(secret)).To(Equal(tt.closed))
			if tt.closed {
				g.Expect(told).To(Equal([]string{"TokenFloods"}), "once")
				closed, err := bootstrap.FromSecret(secret)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(closed.Closed).To(HaveSuffix(tt.why))
			}
		})
	}
}
