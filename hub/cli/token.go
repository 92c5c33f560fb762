package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/bootstrap"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/apiserver"
)

func newToken(env Environment) *cobra.Command {
	cmd := &cobra.Command{Use: "token", Short: "Let clusters join the hub"}
	var f hubFlags
	fs := cmd.PersistentFlags()
	fs.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig of the hub (default: $KUBECONFIG, or else admin.kubeconfig in the data directory)")
	fs.StringVar(&f.context, "context", "", "context in that kubeconfig (default: the current one)")
	fs.StringVar(&f.dataDir, "data-dir", defaultDataDir, "data directory of a hub on this machine")
	cmd.AddCommand(newTokenCreate(env, &f))
	group(cmd)
	return cmd
}

func newTokenCreate(env Environment, hub *hubFlags) *cobra.Command {
	var cluster string
	var ttl time.Duration
	cmd := &cobra.Command{
		Use:   "create --cluster NAME",
		Short: "Make a token with which one cluster can join, once, and print the command that does it",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cluster == "" {
				return errors.New("--cluster is missing: name the cluster that is to join")
			}
			if err := bootstrap.ValidateClusterName(cluster); err != nil {
				return err
			}
			if ttl <= 0 {
				return fmt.Errorf("--ttl %s is not positive: a token must be valid for a while, and not for ever", ttl)
			}
			hubClient, err := hub.connect(env)
			if err != nil {
				return err
			}
			return createToken(cmd.Context(), env, hubClient, cluster, ttl)
		},
	}
	cmd.Flags().StringVar(&cluster, "cluster", "", "name of the cluster that is to join")
	cmd.Flags().DurationVar(&ttl, "ttl", 24*time.Hour, "how long the token is valid")
	return cmd
}

// How long the controller of Kubernetes that signs cluster-info may take.
const (
	signTimeout = 10 * time.Second
	signPoll    = 50 * time.Millisecond
)

// createToken makes a token and prints the command for its holder once it works.
func createToken(ctx context.Context, env Environment, hubClient client.Client, cluster string, ttl time.Duration) error {
	info, err := hubInfo(ctx, hubClient)
	if err != nil {
		return err
	}
	endpoint, err := endpoint(info.Server)
	if err != nil {
		return err
	}
	hashes, err := bootstrap.CAHash(info.CA)
	if err != nil {
		return fmt.Errorf("the hub tells agents no certificate authority to check it by: %w", err)
	}
	token, err := bootstrap.New(env.Random, cluster, env.Clock.Now().Add(ttl))
	if err != nil {
		return err
	}
	secret := bootstrap.NewSecret(token)
	if err := hubClient.Create(ctx, secret, client.FieldOwner(contract.FieldManagerRegistration)); err != nil {
		return fmt.Errorf("making a token: %w", err)
	}
	if err := awaitSigned(ctx, hubClient, token.ID); err != nil {
		// Nobody has seen it, so it should not stay.
		return errors.Join(err, client.IgnoreNotFound(hubClient.Delete(ctx, secret)))
	}
	_, _ = fmt.Fprintf(env.Err, "With this token cluster %s can join once, until %s. Run where its kubeconfig is:\n",
		cluster, token.Expires.Local().Format(time.RFC1123Z))
	_, err = fmt.Fprintln(env.Out, joinCommand(endpoint, token, hashes))
	return err
}

// hubInfo returns what agents are told, and says what to do if this is no hub.
func hubInfo(ctx context.Context, hubClient client.Client) (apiserver.ClusterInfo, error) {
	var info apiserver.ClusterInfo
	kind := clusterv1alpha1.GroupVersion.WithKind("Cluster").GroupKind()
	if _, err := hubClient.RESTMapper().RESTMapping(kind); meta.IsNoMatchError(err) {
		return info, errors.New("the API server that the kubeconfig names is not a hub's: it knows no Cluster; name another with --kubeconfig")
	} else if err != nil {
		return info, fmt.Errorf("connecting to the hub: %w", err)
	}
	info, err := apiserver.GetClusterInfo(ctx, hubClient)
	if errors.Is(err, apiserver.ErrNoClusterInfo) {
		return info, fmt.Errorf("%w, by which agents find it; `hub serve` makes one", err)
	}
	return info, err
}

// endpoint returns the HOST:PORT of a server's URL.
func endpoint(server string) (string, error) {
	u, err := url.Parse(server)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || (u.Path != "" && u.Path != "/") {
		return "", fmt.Errorf("the hub tells agents to dial %q, which is not of the form https://HOST:PORT; mend it with `hub serve --advertise-url`", server)
	}
	if u.Port() == "" {
		u.Host += ":443"
	}
	return u.Host, nil
}

// awaitSigned waits until the holder of a token can verify what agents are told.
func awaitSigned(ctx context.Context, hubClient client.Client, id string) error {
	err := wait.PollUntilContextTimeout(ctx, signPoll, signTimeout, true, func(ctx context.Context) (bool, error) {
		info, err := apiserver.GetClusterInfo(ctx, hubClient)
		return err == nil && info.Signed[id], err
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return fmt.Errorf("the token is withdrawn, since ConfigMap kube-public/cluster-info was not signed for it within %s: "+
			"the hub's kube-controller-manager must run the controllers bootstrapsigner and tokencleaner", signTimeout)
	}
	return err
}

// joinCommand returns what the operator of a cluster runs.
func joinCommand(endpoint string, token bootstrap.Token, hashes []string) string {
	var out strings.Builder
	out.WriteString("agent join " + endpoint + " --token " + token.String())
	for _, hash := range hashes {
		out.WriteString(" --discovery-token-ca-cert-hash " + hash)
	}
	return out.String() + " --cluster-name " + token.Cluster
}
