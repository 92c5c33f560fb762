package cli

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fairlead.dev/hub/cli/table"
	"fairlead.dev/hub/people/view"
	"fairlead.dev/hub/people/view/applications"
	"fairlead.dev/hub/people/view/diff"
	"fairlead.dev/hub/people/view/rollouts"
)

// diffFlags are the flags of `hub diff`.
type diffFlags struct {
	hub       hubFlags
	namespace namespaceFlags
	cluster   string
	between   []string
	// mask hides secrets; its key is generated for each run.
	mask diff.Mask
}

func newDiff(env Environment) *cobra.Command {
	var f diffFlags
	cmd := &cobra.Command{
		Use:   "diff KIND/NAME",
		Short: "Compare what clusters should have with what they were sent, or two clusters with each other",
		Long: "Render an object for each of its clusters, as the hub would now, and compare that with the Work that there is. Where changes\n" +
			"go out in waves, that is the revision that the cluster is to have, which is named, and not what its author wrote last. With\n" +
			"--between compare what two clusters were sent, but for the marks that name the Work. Values of Secrets are hidden:\n" +
			"those that look alike are alike, in one run. Nothing is changed. Ends with status 2 if anything differs.",
		Example: "  hub diff deployment/web -n shop\n  hub diff deployment/web -n shop --cluster edge-1\n  hub diff deployment/web -n shop --between edge-1,edge-2",
		Args:    cobra.MaximumNArgs(2),
		RunE:    func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), env, args) },
	}
	fs := cmd.Flags()
	f.hub.add(env, cmd)
	f.namespace.add(env, cmd, &f.hub, "object")
	fs.StringVar(&f.cluster, "cluster", "", "compare in this cluster only")
	fs.StringSliceVar(&f.between, "between", nil, "two clusters to compare with each other")
	cmd.ValidArgsFunction = completing(env, &f.hub, applicationNames(&f.namespace))
	for _, flag := range []string{"cluster", "between"} {
		completeFlag(cmd, flag, completing(env, &f.hub, clusterNames))
	}
	return cmd
}

func (f *diffFlags) run(ctx context.Context, env Environment, args []string) error {
	if len(f.between) > 0 && (len(f.between) != 2 || f.cluster != "") {
		return errors.New("--between takes two clusters, such as edge-1,edge-2, and no --cluster")
	}
	if err := f.hide(env); err != nil {
		return err
	}
	hub, err := f.hub.open(env)
	if err != nil {
		return err
	}
	ref, err := hub.named(args, &f.namespace)
	if err != nil {
		return err
	}
	rows, err := hub.Rendered(ctx, ref)
	if err != nil {
		return err
	}
	for _, name := range slices.Concat(f.between, []string{f.cluster}) {
		if name != "" && find(rows, name) == nil {
			return fmt.Errorf("%s is not in cluster %s; it is in %s", ref, name, inClusters(rows))
		}
	}
	if len(f.between) > 0 {
		return f.compare(env, ref, find(rows, f.between[0]), find(rows, f.between[1]))
	}
	differing, compared := 0, 0
	for i := range rows {
		if f.cluster != "" && rows[i].Cluster != f.cluster {
			continue
		}
		compared++
		same, err := f.sent(env, &rows[i])
		if err != nil {
			return err
		}
		if !same {
			differing++
		}
	}
	if compared == 0 {
		say(env.Err, "%s goes to no cluster now; `hub explain` says why", ref)
	}
	if differing > 0 {
		return &statusError{ExitNo, fmt.Sprintf("%s: %d of %d clusters were sent something other than is rendered now; if this does not change, see `hub events %s`",
			ref, differing, compared, rollouts.Arguments(applications.Template{Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}))}
	}
	return nil
}

// hide creates the mask.
func (f *diffFlags) hide(env Environment) error {
	key := make([]byte, sha256.Size)
	if _, err := io.ReadFull(env.Random, key); err != nil {
		return fmt.Errorf("making a key that hides Secrets: %w", err)
	}
	f.mask = diff.NewMask(key)
	return nil
}

func find(rows []view.Rendered, cluster string) *view.Rendered {
	for i := range rows {
		if rows[i].Cluster == cluster {
			return &rows[i]
		}
	}
	return nil
}

func inClusters(rows []view.Rendered) string {
	if len(rows) == 0 {
		return "none"
	}
	var names []string
	for _, r := range rows {
		names = append(names, r.Cluster)
	}
	return strings.Join(names, ", ")
}

// sent compares what a cluster was sent with what is rendered for it now, and says whether they are equal.
func (f *diffFlags) sent(env Environment, row *view.Rendered) (bool, error) {
	rendered := "rendered"
	if row.Revision > 0 {
		rendered = fmt.Sprintf("rendered from r%d", row.Revision)
		if row.RevisionOf != "" {
			rendered += " of " + row.RevisionOf
		}
	}
	switch {
	case row.Stays && row.Sent == nil:
		say(env.Out, "# %s: it is sent nothing until its rollout decides", row.Cluster)
		return true, nil
	case row.Stays:
		say(env.Out, "# %s: it keeps what it was sent until its rollout decides", row.Cluster)
		return true, nil
	case row.Failed != "":
		say(env.Out, "# %s: it cannot be rendered, and the last Work stays: %s", row.Cluster, row.Failed)
		return false, nil
	case row.Desired == nil:
		say(env.Out, "# %s: it should no longer have the object, but Work %s is still there", row.Cluster, row.Sent.Name)
		return false, nil
	case row.Sent == nil:
		say(env.Out, "# %s: there is no Work yet", row.Cluster)
		return false, nil
	}
	was, err := diff.ContentOf(row.Sent, f.mask)
	if err != nil {
		return false, err
	}
	now, err := diff.ContentOf(row.Desired, f.mask)
	if err != nil {
		return false, err
	}
	text, err := diff.Objects(row.Cluster+" sent", row.Cluster+" "+rendered, was, now)
	if err != nil {
		return false, err
	}
	if text == "" {
		say(env.Out, "# %s: as %s", row.Cluster, rendered)
		return true, nil
	}
	return false, writeDiff(env, text)
}

// compare compares what two clusters were sent.
func (f *diffFlags) compare(env Environment, ref view.Ref, a, b *view.Rendered) error {
	for _, row := range []*view.Rendered{a, b} {
		if row.Sent == nil {
			return fmt.Errorf("cluster %s was not sent %s yet; `hub tree` shows how far it got", row.Cluster, ref)
		}
	}
	from, err := diff.ContentOf(a.Sent, f.mask)
	if err != nil {
		return err
	}
	to, err := diff.ContentOf(b.Sent, f.mask)
	if err != nil {
		return err
	}
	text, err := diff.Objects(a.Cluster, b.Cluster, from.Unmarked(), to.Unmarked())
	if err != nil {
		return err
	}
	if text == "" {
		say(env.Out, "# %s and %s were sent the same", a.Cluster, b.Cluster)
		return nil
	}
	if err := writeDiff(env, text); err != nil {
		return err
	}
	return &statusError{ExitNo, fmt.Sprintf("%s differs between %s and %s", ref, a.Cluster, b.Cluster)}
}

// writeDiff prints a unified diff.
func writeDiff(env Environment, text string) error {
	var out strings.Builder
	for line := range strings.Lines(text) {
		line, tone := strings.TrimSuffix(line, "\n"), table.Plain
		switch {
		case !env.Color:
		case strings.HasPrefix(line, "+"):
			tone = table.Good
		case strings.HasPrefix(line, "-"):
			tone = table.Bad
		case strings.HasPrefix(line, "@@"):
			tone = table.Faint
		}
		out.WriteString(tone.Paint(line) + "\n")
	}
	if _, err := fmt.Fprint(env.Out, out.String()); err != nil {
		return fmt.Errorf("printing the difference: %w", err)
	}
	return nil
}
