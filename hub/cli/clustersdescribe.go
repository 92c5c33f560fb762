package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/prose"
	"fairlead.dev/hub/fleet/registration/record"
	"fairlead.dev/hub/people/view"
	"fairlead.dev/hub/people/view/clusters"
)

func newClustersDescribe(env Environment, hub *hubFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "describe NAME",
		Short: "Show how a cluster joined and who accepted it, its status, and its events",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("name one cluster, as `hub clusters` shows it")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := hub.open(env)
			if err != nil {
				return err
			}
			return describeCluster(cmd.Context(), env, o, args[0])
		},
		ValidArgsFunction: completing(env, hub, oneOf(clusterNames)),
	}
}

func describeCluster(ctx context.Context, env Environment, hub *opened, name string) error {
	cluster := &clusterv1alpha1.Cluster{}
	err := hub.client.Get(ctx, client.ObjectKey{Name: name}, cluster)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading cluster %s: %w", name, err)
	}
	kept, keptErr := keptName(ctx, hub.client, name)
	if keptErr != nil {
		return keptErr
	}
	if apierrors.IsNotFound(err) && kept == nil {
		return fmt.Errorf("there is no cluster %s on the hub; `hub clusters` lists them", name)
	}
	const padding = 2
	w := tabwriter.NewWriter(env.Out, 0, 0, padding, ' ', 0)
	line := func(key, format string, args ...any) {
		_, _ = fmt.Fprintln(w, key+":\t"+prose.OneLine(fmt.Sprintf(format, args...)))
	}
	line("Cluster", "%s", name)
	var refused []view.Refusal
	if err == nil {
		row, refusals, err := hub.Cluster(ctx, cluster)
		if err != nil {
			return err
		}
		refused = refusals
		describeState(line, &row, env.Clock.Now())
		describeLine(line, hub.members.LineState(ctx, name), env.Clock.Now())
		describeJoined(line, cluster, env.Clock.Now())
	}
	if kept != nil {
		line("Forgotten", "at %s by %s; the name is kept for member %s",
			kept.Data[contract.RetiredAtKey], kept.Data[contract.RetiredByKey], kept.Data[contract.RetiredMemberKey])
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("printing the cluster: %w", err)
	}
	printRefused(env, refused)
	return printHappened(ctx, env, hub, name)
}

// describeState prints the state and resources of a cluster.
func describeState(line func(key, format string, args ...any), c *clusters.Cluster, now time.Time) {
	line("State", "%s", c.State)
	for _, remark := range c.Remarks {
		line("Note", "%s", remark)
	}
	if c.Heartbeat != nil {
		line("Heard from", "%s ago", lag(c, now).Text)
	}
	if c.Works != nil {
		line("Works", "%d, %d of them applied, %d refused, %d to be removed", c.Works.Total, c.Works.Applied, c.Works.Failing, c.Works.Deleting)
	}
	for _, u := range []struct {
		name string
		*clusters.Usage
	}{{"CPU", c.CPU}, {"Memory", c.Memory}, {"Pods", c.Pods}} {
		if u.Usage != nil {
			line(u.name, "%s, %s free, %s asked for by pods without a node", used(u.Usage).Text, readable(u.Free), readable(u.Pending))
		}
	}
	if c.Nodes != nil {
		line("Nodes", "%d of %d ready", c.Nodes.Ready, c.Nodes.Total)
	}
	if c.Agent != "" {
		line("Agent", "%s", c.Agent)
	}
	describeAgent(line, c.Report, now)
}

// describeAgent prints the agent's own counters.
func describeAgent(line func(key, format string, args ...any), r *clusterv1alpha1.AgentReport, now time.Time) {
	if r == nil {
		return
	}
	const megabyte = 1e6
	line("Started", "%s ago; restarts that the hub heard of: %d", age(max(now.Sub(r.Started.Time), 0)), r.Restarts)
	line("Drift", "%d changes in the member put back since then", r.DriftRepaired)
	if r.NoLine != "" {
		line("Line", "none: %s", r.NoLine)
	}
	if until := r.MemberCertificateExpires; until != nil {
		line("Kubeconfig", "the agent's client certificate in the member holds until %s", until.UTC().Format(time.RFC3339))
	}
	if r.StuckObjects > 0 {
		line("Stuck", "%d deleted objects are held by finalizers", r.StuckObjects)
	}
	if j := r.Journal; j != nil {
		line("Journal", "%d Works, %.1f MB", j.Works, float64(j.Bytes)/megabyte)
	}
	if r.SentBytes+r.ReceivedBytes > 0 {
		line("Traffic", "%.1f MB to the hub, %.1f MB from it", float64(r.SentBytes)/megabyte, float64(r.ReceivedBytes)/megabyte)
	}
	line("Counted", "%s ago", age(max(now.Sub(r.Time.Time), 0)))
}

// mostRefused is how many refusals are printed.
const mostRefused = 10

// printRefused prints what a cluster refuses.
func printRefused(env Environment, refused []view.Refusal) {
	if len(refused) == 0 {
		return
	}
	say(env.Out, "\nWhat it refuses:")
	for i, r := range refused {
		if i == mostRefused {
			say(env.Out, "  and %d more", len(refused)-i)
			return
		}
		say(env.Out, "  %s: %s", r.Work, prose.OneLine(r.Message))
	}
}

func describeJoined(line func(key, format string, args ...any), c *clusterv1alpha1.Cluster, now time.Time) {
	line("Member", "%s", cmp.Or(c.Spec.ID, "nobody has joined yet"))
	if how := record.Read[record.Joined](c.Annotations, contract.JoinedAnnotation); how != nil {
		by := "without asking anybody"
		if how.AcceptedBy != "" {
			by = "accepted by " + how.AcceptedBy
		}
		line("Joined", "%s (%s ago), with token %s of %s, %s", how.At.Format(time.RFC3339), age(now.Sub(how.At)), how.Token, cmp.Or(how.TokenBy, "somebody"), by)
	}
	if last := record.Read[record.Certificate](c.Annotations, contract.CertificateAnnotation); last != nil {
		line("Certificate", "ends %s (%s), serial %s", last.Expires.Format(time.RFC3339), ends(last.Expires, now), last.Serial)
	}
	line("Version", "%s", cmp.Or(c.Status.KubernetesVersion, "-"))
	line("Place", "region %s, zones %s, provider %s",
		cmp.Or(c.Spec.Region, "-"), cmp.Or(strings.Join(c.Spec.Zones, ","), "-"), cmp.Or(c.Spec.Provider, "-"))
	var labels, taints []string
	for _, key := range slices.Sorted(maps.Keys(c.Labels)) {
		labels = append(labels, key+"="+c.Labels[key])
	}
	for _, taint := range c.Spec.Taints {
		taints = append(taints, taint.ToString())
	}
	line("Labels", "%s", cmp.Or(strings.Join(labels, ", "), "-"))
	line("Taints", "%s", cmp.Or(strings.Join(taints, ", "), "-"))
	for _, condition := range c.Status.Conditions {
		said := ""
		if clusters.SaidLast(c, condition.Type) {
			said = " (as the agent said last)"
		}
		line(condition.Type, "%s since %s%s: %s", condition.Status, condition.LastTransitionTime.Format(time.RFC3339), said, condition.Message)
	}
}

// printHappened prints the events about a Cluster and its member's requests, the oldest first.
func printHappened(ctx context.Context, env Environment, hub *opened, name string) error {
	about, err := hub.EventsOfCluster(ctx, name)
	if err != nil {
		return err
	}
	if len(about) == 0 {
		return nil
	}
	say(env.Out, "\nWhat happened:")
	for _, e := range about {
		kind := corev1.EventTypeNormal
		if e.Warning {
			kind = corev1.EventTypeWarning
		}
		say(env.Out, "  %s ago  %s  %s: %s", age(env.Clock.Now().Sub(e.At)), kind, e.Reason, prose.OneLine(e.Message))
	}
	return nil
}
