package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/bootstrap"
	"fairlead.dev/hub/people/operate"
)

func newToken(env Environment) *cobra.Command {
	cmd := &cobra.Command{Use: "token", Short: "Let clusters join the hub"}
	var f hubFlags
	f.addPersistent(env, cmd)
	cmd.AddCommand(newTokenCreate(env, &f), newTokenList(env, &f), newTokenRevoke(env, &f))
	group(cmd)
	return cmd
}

// tokenFlags are the flags of `hub token create`.
type tokenFlags struct {
	cluster  string
	pattern  string
	rejoin   string
	maxUses  int
	ttl      time.Duration
	approval string
	labels   map[string]string
	region   string
	zones    []string
	provider string
}

func newTokenCreate(env Environment, hub *hubFlags) *cobra.Command {
	var f tokenFlags
	cmd := &cobra.Command{
		Use:   "create --cluster NAME",
		Short: "Make a token with which one cluster can join, once, and print the command that does it",
		Long: "Make a token with which one cluster can join, once, and print the command that does it. With --cluster-pattern and\n" +
			"--max-uses it is one for as many clusters as that. With --rejoin it is for the member that has the name already: an\n" +
			"agent whose certificate ended while it was off finds it by itself.",
		Example: "  hub token create --cluster edge-1 --region eu --zone eu-1 --labels tier=gold\n" +
			"  hub token create --cluster-pattern 'shop-*' --max-uses 200 --ttl 72h\n" +
			"  hub token create --rejoin edge-1",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.validate(); err != nil {
				return err
			}
			hubClient, err := hub.connect(env)
			if err != nil {
				return err
			}
			return f.create(cmd.Context(), env, hubClient)
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&f.cluster, "cluster", "", "name of the cluster that should join")
	fs.StringVar(&f.pattern, "cluster-pattern", "", "pattern of the names of clusters that should join, in which * stands for any characters; needs --max-uses")
	fs.StringVar(&f.rejoin, "rejoin", "", "name of a cluster on the hub whose agent should get a new certificate")
	completeFlag(cmd, "rejoin", completing(env, hub, clusterNames))
	fs.IntVar(&f.maxUses, "max-uses", 1, "how many clusters can join with the token")
	fs.DurationVar(&f.ttl, "ttl", 24*time.Hour, "how long the token is valid")
	fs.StringVar(&f.approval, "approval", approvalAuto, "auto lets whoever has the token join, manual leaves it to `hub clusters approve`")
	complete(cmd, "approval", []string{approvalAuto, approvalManual})
	fs.StringToStringVar(&f.labels, "labels", nil, "labels that the Cluster gets, as KEY=VALUE")
	fs.StringVar(&f.region, "region", "", "region that the Cluster gets")
	fs.StringSliceVar(&f.zones, "zone", nil, "zone that the Cluster gets; may be given more than once")
	fs.StringVar(&f.provider, "provider", "", "provider that the Cluster gets")
	return cmd
}

// validate validates the flags.
func (f *tokenFlags) validate() error {
	given := 0
	for _, name := range []string{f.cluster, f.pattern, f.rejoin} {
		if name != "" {
			given++
		}
	}
	switch {
	case given == 0:
		return errors.New("--cluster is missing: name the cluster that should join")
	case given > 1:
		return errors.New("--cluster, --cluster-pattern and --rejoin exclude each other")
	case f.maxUses < 1 || f.maxUses > bootstrap.MaxUses:
		return fmt.Errorf("--max-uses %d is not between 1 and %d", f.maxUses, bootstrap.MaxUses)
	case f.pattern == "" && f.maxUses > 1:
		return errors.New("--max-uses is for --cluster-pattern: one cluster joins once")
	case f.ttl <= 0:
		return fmt.Errorf("--ttl is %s; it must be positive", f.ttl)
	case f.approval != approvalAuto && f.approval != approvalManual:
		return fmt.Errorf("--approval is %q; it must be %s or %s", f.approval, approvalAuto, approvalManual)
	case f.rejoin != "" && (len(f.labels) > 0 || f.region != "" || len(f.zones) > 0 || f.provider != ""):
		return errors.New("--labels, --region, --zone and --provider are for clusters that are new: change those of a cluster that has joined with kubectl")
	}
	if err := f.validateGifts(); err != nil {
		return err
	}
	if f.pattern != "" {
		return bootstrap.ValidatePattern(f.pattern)
	}
	return bootstrap.ValidateClusterName(f.cluster + f.rejoin)
}

// validateGifts returns an error for defaults that no Cluster can have.
func (f *tokenFlags) validateGifts() error {
	err := operate.ValidateClusterDefaults(f.clusterDefaults())
	if err != nil {
		return fmt.Errorf("--%w", err) // the error starts with the name of the flag
	}
	return nil
}

func (f *tokenFlags) clusterDefaults() bootstrap.ClusterDefaults {
	return bootstrap.ClusterDefaults{Labels: f.labels, Region: f.region, Zones: f.zones, Provider: f.provider}
}

// create creates a token, and prints the command for its holder once the token can be used. The secret is never printed
// again.
func (f *tokenFlags) create(ctx context.Context, env Environment, hubClient client.Client) error {
	lead, err := operate.HubOf(ctx, hubClient)
	if err != nil {
		return err
	}
	var returning *clusterv1alpha1.Cluster
	why := "" // the agent cannot find it by itself
	if f.rejoin != "" {
		if returning, err = joinedCluster(ctx, hubClient, f.rejoin); err != nil {
			return err
		}
		if why, err = copied(ctx, hubClient, returning); err != nil {
			return err
		}
	}
	token, err := f.token(ctx, env, hubClient, returning)
	if err != nil {
		return err
	}
	if err := operate.Issue(ctx, hubClient, token); err != nil {
		return err
	}
	found := false
	if returning != nil && why == "" {
		if found, err = callBack(ctx, hubClient, returning, token, env.Clock.Now()); err != nil {
			return err
		}
	}
	say(env.Err, "%s", f.explain(token, found, why))
	_, err = fmt.Fprintln(env.Out, lead.JoinCommand(token))
	return err
}

// token returns a new token according to the flags. One for a rejoin is valid for that member only.
func (f *tokenFlags) token(
	ctx context.Context, env Environment, hubClient client.Client, returning *clusterv1alpha1.Cluster,
) (bootstrap.Token, error) {
	token, err := bootstrap.New(env.Random, f.cluster+f.pattern+f.rejoin, env.Clock.Now().Add(f.ttl))
	if err != nil {
		return bootstrap.Token{}, err
	}
	token.MaxUses = f.maxUses
	token.Manual = f.approval == approvalManual
	token.Gives = f.clusterDefaults()
	if returning != nil {
		token.Member = returning.Spec.ID
	}
	token.CreatedBy, err = operate.WhoAmI(ctx, hubClient)
	return token, err
}

// explain says what the printed command is for. Found says that the agent finds the token by itself; copied is why it
// does not, if somebody else may have its certificate.
func (f *tokenFlags) explain(token bootstrap.Token, found bool, copied string) string {
	until := token.Expires.Local().Format(time.RFC1123Z)
	accepted := ""
	if token.Manual {
		accepted = " An operator must accept it: `hub clusters approve`."
	}
	switch {
	case found:
		return fmt.Sprintf("The agent of cluster %s finds this token by itself, until %s, if it trusts this hub still.%s Otherwise run where its kubeconfig is:",
			f.rejoin, until, accepted)
	case copied != "":
		return fmt.Sprintf("Somebody else may have a copy of the certificate of cluster %s (%s), so the agent is not called. "+
			"With this token the member can join once, until %s, which locks everybody else out.%s Run on the member itself, with --install if the agent runs in there:",
			f.rejoin, copied, until, accepted)
	case f.pattern != "":
		return fmt.Sprintf("With this token %d clusters whose names are like %s can join, until %s.%s Run where their kubeconfigs are, with their names:",
			f.maxUses, f.pattern, until, accepted)
	default:
		return fmt.Sprintf("With this token cluster %s can join once, until %s.%s Run where its kubeconfig is:", token.Cluster, until, accepted)
	}
}
