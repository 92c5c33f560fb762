package main

import (
	"context"
	"errors"

	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

// discoveryFailed is the reason of kube-apiserver for what it does not reach.
const discoveryFailed = "FailedDiscoveryCheck"

// keepLinesAvailable has an API server that does not reach the hub of its machine, as while that one starts, leave the API of lines as the other
// machines have found it. APIs that share an etcd share the condition, by which each of them refuses requests: they would contradict one
// another as fast as they can write, and half of the requests to hubs that work would be refused.
func keepLinesAvailable(config *app.Config) {
	front := config.Aggregator.GenericConfig
	front.AdmissionControl = admission.NewChainHandler(front.AdmissionControl, availabilityGuard{admission.NewHandler(admission.Update)})
}

// availabilityGuard refuses what an API server would say of lines that it had found, when it finds them no more. It tries again, more and more rarely.
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

// available returns the condition by which requests are let through, or nil.
func available(s *apiregistration.APIService) *apiregistration.APIServiceCondition {
	for i := range s.Status.Conditions {
		if s.Status.Conditions[i].Type == apiregistration.Available {
			return &s.Status.Conditions[i]
		}
	}
	return nil
}
