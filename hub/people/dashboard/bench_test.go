package dashboard

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-logr/logr"

	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/people/auth"
	"fairlead.dev/test/builder"
)

// Size of the fleet for which pages must be fast.
const (
	manyClusters     = 2000
	manyApplications = 10_000
	placesOfEach     = 10
	manyPolicies     = 500
)

// crowded returns a dashboard of a large fleet, and the session cookie of an administrator.
func crowded(b *testing.B) (*Server, *http.Cookie) {
	b.Helper()
	s, err := New(Deps{
		Config: &rest.Config{Host: "https://127.0.0.1:1"}, Mapper: fake.NewClientBuilder().Build().RESTMapper(), Cache: &informertest.FakeInformers{},
		Clock: clock.RealClock{}, Log: logr.Discard(),
	})
	if err != nil {
		b.Fatal(err)
	}
	close(s.filled)
	now := time.Now()
	beat := metav1.NewMicroTime(now)
	for i := range manyClusters {
		c := builder.MakeCluster(clusterName(i)).Region(fmt.Sprintf("region-%d", i%20)).Label("tier", "edge").Obj()
		status := metav1.ConditionTrue
		if i%50 == 0 {
			status = metav1.ConditionUnknown
		}
		c.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: status, Message: "It says so.", LastTransitionTime: metav1.NewTime(now)}}
		s.index.PutCluster(c, now)
		s.index.PutLease(c.Name, &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{RenewTime: &beat}})
	}
	for i := range manyPolicies {
		s.index.PutPolicy(builder.MakePolicy(fmt.Sprintf("team-%d", i%100), fmt.Sprintf("policy-%d", i)).Select("apps/v1", "Deployment", "").Obj())
	}
	for i := range manyApplications {
		s.index.PutBinding(application(i), now)
	}
	scheme, err := kube.NewScheme()
	if err != nil {
		b.Fatal(err)
	}
	hub := fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, obj client.Object, _ ...client.CreateOption) error {
			if review, ok := obj.(*authorizationv1.SelfSubjectAccessReview); ok {
				review.Status.Allowed = true
			}
			return nil
		},
	}).Build()
	secret := s.signIn.Sessions.Open(auth.NewUser("admin", hub, clock.RealClock{}))
	return s, &http.Cookie{Name: auth.CookieName(true), Value: secret}
}

func clusterName(i int) string { return fmt.Sprintf("edge-%04d", i%manyClusters) }

func application(i int) *workv1alpha2.ResourceBinding {
	namespace, policy := fmt.Sprintf("team-%d", i%100), fmt.Sprintf("policy-%d", i%manyPolicies)
	b := &workv1alpha2.ResourceBinding{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: fmt.Sprintf("app-%d-deployment", i),
			Labels:      map[string]string{contract.PropagationPolicyPermanentIDLabel: "x"},
			Annotations: map[string]string{contract.PropagationPolicyNamespaceAnnotation: namespace, contract.PropagationPolicyNameAnnotation: policy},
		},
		Spec: workv1alpha2.ResourceBindingSpec{Resource: workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: namespace, Name: fmt.Sprintf("app-%d", i)}},
	}
	for k := range placesOfEach {
		name := clusterName(i*7 + k*131)
		b.Spec.Clusters = append(b.Spec.Clusters, workv1alpha2.TargetCluster{Name: name})
		item := workv1alpha2.AggregatedStatusItem{ClusterName: name, Applied: true, Health: "Healthy"}
		if i%97 == 0 && k == 0 {
			item = workv1alpha2.AggregatedStatusItem{ClusterName: name, AppliedMessage: "it is refused, for reasons of its own"}
		}
		b.Status.AggregatedStatus = append(b.Status.AggregatedStatus, item)
	}
	return b
}

// BenchmarkPages renders each list of a large fleet; with "changing", an application has changed since the page was
// last rendered.
func BenchmarkPages(b *testing.B) {
	s, cookie := crowded(b)
	for name, path := range map[string]string{
		"overview": "/", "clusters": "/clusters", "clusters-filtered": "/clusters?q=edge-01&sort=-state", "applications": "/applications",
		"applications-filtered": "/applications?q=app-9&state=Failing&sort=state", "applications-last": "/applications?page=250", "policies": "/policies",
	} {
		for _, changing := range []bool{false, true} {
			label := name
			if changing {
				label += "-changing"
			}
			b.Run(label, func(b *testing.B) {
				b.ReportAllocs()
				for i := range b.N {
					if changing {
						s.index.PutBinding(application(i%manyApplications), time.Now())
					}
					r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, path, nil)
					r.AddCookie(cookie)
					w := httptest.NewRecorder()
					s.Handler().ServeHTTP(w, r)
					if w.Code != http.StatusOK {
						b.Fatalf("%s: %d\n%s", path, w.Code, w.Body)
					}
				}
			})
		}
	}
}
