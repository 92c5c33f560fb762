package dashboard

import (
	"context"
	"fmt"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/people/view/applications"
)

// askSuspend asks whether to suspend, or resume, dispatching of a policy's applications.
func (s *Server) askSuspend(stop bool) func(ctx context.Context, v *visit) (*question, error) {
	return func(ctx context.Context, v *visit) (*question, error) {
		p, err := s.readPolicy(ctx, v)
		if err != nil {
			return nil, err
		}
		name := applications.KeyOf(p)
		if err := v.user.Require(ctx, changesPolicy(name)); err != nil {
			return nil, err
		}
		if !stop {
			return &question{
				Title: "Resume " + name.Name + "?", Button: "Resume", Back: policyPath(name),
				Text: "The objects of this policy are delivered again: every change since then is sent to the clusters at once.",
			}, nil
		}
		return &question{
			Title: "Suspend " + name.Name + "?", Button: "Suspend", Back: policyPath(name), Danger: true,
			Text:   "The objects of this policy are not delivered until you resume it: the copies in the clusters stay as they are.",
			Points: []string{"Deletions still take effect.", "Changes are kept on the hub and go out when you resume it."},
		}, nil
	}
}

func (s *Server) doSuspend(stop bool) func(ctx context.Context, v *visit) (string, string, error) {
	return func(ctx context.Context, v *visit) (string, string, error) {
		p, err := s.readPolicy(ctx, v)
		if err != nil {
			return "", "", err
		}
		edit, err := kube.Begin(p)
		if err != nil {
			return "", "", err
		}
		spec := p.PropagationSpec()
		outcome := "is suspended: nothing is delivered until you resume it."
		if stop {
			if spec.Suspension == nil {
				spec.Suspension = &policyv1alpha1.Suspension{}
			}
			spec.Suspension.Dispatching = new(true)
		} else {
			outcome = "is resumed."
			if spec.Suspension != nil {
				spec.Suspension.Dispatching = nil
				if spec.Suspension.DispatchingOnClusters == nil {
					spec.Suspension = nil
				}
			}
		}
		if _, err := edit.Commit(ctx, v.user.Hub, contract.FieldManagerDashboard); err != nil {
			return "", "", fmt.Errorf("changing policy %q: %w", p.GetName(), err)
		}
		return "Policy " + p.GetName() + " " + outcome, policyPath(applications.KeyOf(p)), nil
	}
}
