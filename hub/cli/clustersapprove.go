package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	certificatesv1 "k8s.io/api/certificates/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/hub/people/operate"
)

func newClustersApprove(env Environment, hub *hubFlags) *cobra.Command {
	var which operate.RequestFilter
	cmd := &cobra.Command{
		Use:   "approve NAME...",
		Short: "Accept clusters that ask to join",
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return errors.New("the cluster is missing: `hub clusters` shows those that ask to join")
			case which != operate.RequestFilter{} && len(args) > 1:
				return errors.New("--request and --member are for one cluster")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			hubClient, err := hub.connect(env)
			if err != nil {
				return err
			}
			hubAway := &outage{env: env}
			var failed error
			for _, name := range args {
				failed = errors.Join(failed, approveCluster(cmd.Context(), hubAway, hubClient, name, which))
				if cmd.Context().Err() != nil {
					break
				}
			}
			return failed
		},
	}
	cmd.ValidArgsFunction = completing(env, hub, askingNames)
	cmd.Flags().StringVar(&which.Request, "request", "", "accept the request of this name, which its agent printed; needed when several ask for one name")
	cmd.Flags().StringVar(&which.Member, "member", "", "accept a request only if it is from the member with this id")
	return cmd
}

// approveCluster accepts the join of one cluster, and waits for the hub's decision. Each step is idempotent.
func approveCluster(ctx context.Context, hubAway *outage, hubClient client.Client, name string, which operate.RequestFilter) error {
	env := hubAway.env
	var request operate.Request
	var by string
	var decided certificatesv1.CertificateSigningRequestCondition
	for _, step := range []func() error{
		func() (err error) { request, err = operate.WaitingFor(ctx, hubClient, name, which); return err },
		func() (err error) { by, err = operate.WhoAmI(ctx, hubClient); return err },
		func() error { return operate.Accept(ctx, hubClient, request, by, env.Clock.Now()) },
		func() (err error) { decided, err = operate.AwaitDecision(ctx, hubClient, request); return err },
	} {
		if err := hubAway.repeat(ctx, step); err != nil {
			return err
		}
	}
	if decided.Type != certificatesv1.CertificateApproved {
		return fmt.Errorf("the hub still refuses cluster %s: %s", name, decided.Message)
	}
	say(env.Out, "Cluster %s is accepted: %s", name, decided.Message)
	return nil
}
