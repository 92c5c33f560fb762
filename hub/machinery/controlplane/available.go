package main

import (
	"context"
	"errors"

	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

// discoveryFailed is kube-apiserver's reason for an APIService that it cannot reach.
const discoveryFailed = "FailedDiscoveryCheck"

// keepLinesAvailable keeps an API server that cannot reach the hub of its own machine, for instance while that starts,
// from changing the condition of the API of lines that others have set. API servers that share an etcd share this
// condition, and refuse requests by it: they would overwrite each other as fast as they can, and half of the requests
// to working hubs would be refused.
func keepLinesAvailable(config *app.Config) {
	front := config.Aggregator.GenericConfig
	front.AdmissionControl = admission.NewChainHandler(front.AdmissionControl, availabilityGuard{admission.NewHandler(admission.Update)})
}

// availabilityGuard refuses that an API server marks the API of lines as unavailable when it was available. The API
// server retries with a backoff.
type availabilityGuard struct{ *admission.Handler }

// Validate implements admission.ValidationInterface.
func (availabilityGuard) Validate(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetSubresource() != "status" || a.GetUserInfo().GetName() != user.APIServerUser {
		return nil
	}
	before, known := a.GetOldObject().(*apiregistration.APIService)
	after, knownToo := a.GetObject().(*apiregistration.APIService)
	if !known || !knownToo {
		return nil
	}
	s := after.Spec.Service
	if s == nil || s.Namespace != linesNamespace || s.Name != linesService {
		return nil
	}
	now := available(after)
	if before := available(before); before == nil || before.Status != apiregistration.ConditionTrue ||
		now == nil || now.Status == apiregistration.ConditionTrue || now.Reason != discoveryFailed {
		return nil
	}
	return admission.NewForbidden(a, errors.New("the hub of another machine may well be there: "+now.Message))
}

// available returns the condition Available, or nil.
func available(s *apiregistration.APIService) *apiregistration.APIServiceCondition {
	for i := range s.Status.Conditions {
		if s.Status.Conditions[i].Type == apiregistration.Available {
			return &s.Status.Conditions[i]
		}
	}
	return nil
}
