package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/bootstrap"
	"fairlead.dev/common/contract"
)

func newTokenList(env Environment, hub *hubFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the join tokens: how often each can still be used, and who joined with it",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			hubClient, err := hub.connect(env)
			if err != nil {
				return err
			}
			tokens, err := listTokens(cmd.Context(), hubClient)
			if err != nil {
				return err
			}
			return printTokens(env, tokens)
		},
	}
}

// listTokens returns the join tokens, those that expire first in front.
func listTokens(ctx context.Context, hubClient client.Client) ([]bootstrap.Token, error) {
	var secrets corev1.SecretList
	err := hubClient.List(ctx, &secrets, client.InNamespace(bootstrap.SecretNamespace), client.MatchingFields{"type": string(corev1.SecretTypeBootstrapToken)})
	if err != nil {
		return nil, fmt.Errorf("listing the tokens: %w", err)
	}
	var out []bootstrap.Token
	for i := range secrets.Items {
		token, err := bootstrap.FromSecret(&secrets.Items[i])
		if err == nil && token.Cluster != "" {
			out = append(out, token)
		}
	}
	slices.SortFunc(out, func(a, b bootstrap.Token) int {
		return cmp.Or(a.Expires.Compare(b.Expires), cmp.Compare(a.ID, b.ID))
	})
	return out, nil
}

// printTokens prints tokens without their secrets.
func printTokens(env Environment, tokens []bootstrap.Token) error {
	if len(tokens) == 0 {
		say(env.Err, "There are no join tokens; make one with `hub token create --cluster NAME`")
		return nil
	}
	const padding = 2
	w := tabwriter.NewWriter(env.Out, 0, 0, padding, ' ', 0)
	_, _ = fmt.Fprintln(w, "ID\tCLUSTER\tUSES LEFT\tENDS\tAPPROVAL\tMADE BY\tJOINED")
	for _, token := range tokens {
		joined := make([]string, 0, len(token.Uses))
		for _, use := range token.Uses {
			joined = append(joined, use.Cluster)
		}
		approval := approvalAuto
		if token.Manual {
			approval = approvalManual
		}
		left := fmt.Sprintf("%d of %d", token.UsesLeft(), token.MaxUses)
		if token.Closed != "" {
			left = "closed: " + token.Closed
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", token.ID, token.Cluster, left,
			ends(token.Expires, env.Clock.Now()), approval, cmp.Or(token.CreatedBy, "-"), cmp.Or(strings.Join(joined, ","), "-"))
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("printing the tokens: %w", err)
	}
	return nil
}

// ends formats the expiry of a token.
func ends(at, now time.Time) string {
	switch {
	case at.IsZero():
		return "never"
	case !at.After(now):
		return age(now.Sub(at)) + " ago"
	default:
		return "in " + age(at.Sub(now))
	}
}

func newTokenRevoke(env Environment, hub *hubFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "revoke ID...",
		Short: "Revoke join tokens; clusters that have joined stay",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("the token is missing: name its ID, as `hub token list` shows it")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			hubClient, err := hub.connect(env)
			if err != nil {
				return err
			}
			var failed error
			for _, arg := range args {
				if err := revokeToken(cmd.Context(), hubClient, arg); err != nil {
					failed = errors.Join(failed, err) // the others may be in the wrong hands as well
					continue
				}
				id, _, _ := strings.Cut(arg, ".")
				say(env.Out, "Token %s is revoked", id)
			}
			return failed
		},
		ValidArgsFunction: completing(env, hub, tokenIDs),
	}
}

// revokeToken deletes a join token, given by its ID or completely.
func revokeToken(ctx context.Context, hubClient client.Client, arg string) error {
	id, _, _ := strings.Cut(arg, ".")
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: bootstrap.SecretNamespace, Name: bootstrap.SecretName(id)}}
	err := hubClient.Get(ctx, client.ObjectKeyFromObject(secret), secret)
	if apierrors.IsNotFound(err) || err == nil && secret.Annotations[contract.TokenClusterAnnotation] == "" {
		return fmt.Errorf("there is no join token %s on the hub; `hub token list` lists them", id)
	}
	if err == nil {
		err = client.IgnoreNotFound(hubClient.Delete(ctx, secret, client.Preconditions{UID: &secret.UID}))
	}
	if err != nil {
		return fmt.Errorf("revoking token %s: %w", id, err)
	}
	return nil
}
