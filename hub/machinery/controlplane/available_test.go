package main

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration"
)

func TestAnAPIServerWithoutItsHubDoesNotContradictTheOthers(t *testing.T) {
	t.Parallel()
	const (
		isTrue, isFalse, isUnknown = apiregistration.ConditionTrue, apiregistration.ConditionFalse, apiregistration.ConditionUnknown

		none = apiregistration.ConditionStatus("")
	)
	for name, tc := range map[string]struct {
		service, reason, subresource, by string
		before, after                    apiregistration.ConditionStatus
		refused                          bool
	}{
		"what others found is not found here": {before: isTrue, after: isFalse, refused: true},
		"nobody has found it yet":             {before: none, after: isFalse},
		"nobody finds it":                     {before: isFalse, after: isFalse},
		"it is found":                         {before: isFalse, after: isTrue},
		"it is found still":                   {before: isTrue, after: isTrue},
		"nobody has a service for it":         {before: isTrue, after: isFalse, reason: "ServiceNotFound"},
		"a service that cannot be read":       {before: isTrue, after: isUnknown, reason: "ServiceAccessError"},
		"an API of somebody else":             {before: isTrue, after: isFalse, service: "metrics-server"},
		"a change of what is wanted":          {before: isTrue, after: isFalse, subresource: "none"},
		"somebody who says so":                {before: isTrue, after: isFalse, by: "admin"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			or := func(given, otherwise string) string {
				if given == "" {
					return otherwise
				}
				return given
			}
			made := func(status apiregistration.ConditionStatus) runtime.Object {
				s := &apiregistration.APIService{
					ObjectMeta: metav1.ObjectMeta{Name: "v1alpha1.connect.fairlead.dev"},
					Spec:       apiregistration.APIServiceSpec{Service: &apiregistration.ServiceReference{Namespace: linesNamespace, Name: or(tc.service, linesService)}},
				}
				if status != none {
					s.Status.Conditions = []apiregistration.APIServiceCondition{{Type: apiregistration.Available, Status: status, Reason: or(tc.reason, discoveryFailed)}}
				}
				return s
			}
			resource := apiregistration.SchemeGroupVersion.WithResource("apiservices")
			a := admission.NewAttributesRecord(made(tc.after), made(tc.before), schema.GroupVersionKind{}, "", "v1alpha1.connect.fairlead.dev", resource,
				or(tc.subresource, "status"), admission.Update, &metav1.UpdateOptions{}, false, &user.DefaultInfo{Name: or(tc.by, user.APIServerUser)})
			if err := (availabilityGuard{}).Validate(t.Context(), a, nil); (err != nil) != tc.refused {
				t.Errorf("refused with %v, want a refusal: %t", err, tc.refused)
			}
		})
	}
}
