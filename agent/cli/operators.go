package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fairlead.dev/agent/access/rules"
	"fairlead.dev/agent/install"
	"fairlead.dev/agent/install/manifest"
	"fairlead.dev/common/contract"
)

// operatorFlags say what operators of the hub may do in this cluster.
type operatorFlags struct {
	who, may, in, groups []string
	identity             string
}

// add adds the flags, with a prefix before each name.
func (f *operatorFlags) add(flags *pflag.FlagSet, before string) {
	flags.StringSliceVar(&f.may, before+"may", nil, "what they may do beyond reading: exec (attach too), port-forward, write, secrets (tokens of ServiceAccounts too; with write, changes of Secrets), pods/proxy, services/proxy, nodes/proxy")
	flags.StringSliceVar(&f.in, before+"in", nil, "namespaces into which they are let, which must exist; without it, all namespaces and cluster-scoped objects")
	flags.StringVar(&f.identity, before+"identity", string(rules.Prefixed), "their user names here: prefixed (alice of the hub is fairlead:alice) or same (alice, if user:alice is named; the same for named groups; whoever is let in only by a group stays fairlead:NAME)")
	flags.StringSliceVar(&f.groups, before+"api-groups", nil, "API groups of which they may see objects beside those of Kubernetes, such as cert-manager.io")
}

// given returns whether the flags admit or exclude anybody.
func (f *operatorFlags) given() bool { return len(f.who) > 0 }

// rules parses the flags.
func (f *operatorFlags) rules() (rules.Rules, error) {
	return rules.New(rules.Lists{Operators: f.who, May: f.may, In: f.in, APIGroups: f.groups, Identity: f.identity})
}

// operatorOptions converts rules for the chart.
func operatorOptions(r rules.Rules, legacy bool) manifest.Operators {
	l := r.Lists()
	return manifest.Operators{Who: l.Operators, May: l.May, In: l.In, APIGroups: l.APIGroups, Identity: l.Identity, Legacy: legacy}
}

// wanted returns what operators may do: according to the flags or, if they say nothing, as it is now.
func (f *operatorFlags) wanted(ctx context.Context, installer *install.Installer) (manifest.Operators, error) {
	r, err := f.rules()
	if err != nil {
		return manifest.Operators{}, err
	}
	if !f.given() {
		data, err := installer.Operators(ctx)
		if err != nil {
			return manifest.Operators{}, err
		}
		if r, err = rules.Of(data); err != nil {
			return manifest.Operators{}, fmt.Errorf("reading the settings for operators: %w; set them again with --operators", err)
		}
	}
	if r.IsOff() {
		return manifest.Operators{Said: f.given()}, nil
	}
	legacy, err := installer.IsLegacy(ctx)
	if err != nil {
		return manifest.Operators{}, err
	}
	out := operatorOptions(r, legacy)
	out.Said = f.given()
	return out, nil
}

// operatorsCommand holds the flags of `agent operators`.
type operatorsCommand struct {
	member    memberFlags
	operators operatorFlags
	output    string
}

// errNobody reports flags that grant permissions without admitting anybody.
var errNobody = errors.New("no operators are named whom these settings are for: name some, such as group:ops or user:alice")

func newOperators() *cobra.Command {
	var f operatorsCommand
	cmd := &cobra.Command{
		Use:   "operators [off | WHO[,WHO…]]",
		Short: "Set or show what operators of the hub may do in this cluster",
		Long: "Set what operators of the hub may do in this cluster through the agent: WHO, each user:NAME or group:NAME of the hub, may get,\n" +
			"list and watch objects and read logs, and do what --may names. Each call replaces all settings: what it does not name is taken back, and\n" +
			"requests that used it end within seconds. off lets nobody in. Without arguments it shows the current settings.\n" +
			"Only this command changes them: if Helm or kubectl puts something else in place later, nobody is let in until you run it again.\n\n" +
			"RBAC of this cluster must allow it as well, to the user names that they have here: fairlead:NAME, unless --identity same is given.",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: operatorsBeginnings,
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.member.add(cmd.Flags())
	f.operators.add(cmd.Flags(), "")
	cmd.Flags().StringVarP(&f.output, "output", "o", outputText, "how to print the settings: text or json")
	return cmd
}

func (f *operatorsCommand) run(cmd *cobra.Command, args []string) error {
	if f.output != outputText && f.output != outputJSON {
		return fmt.Errorf("--output is %q; it is %s or %s", f.output, outputText, outputJSON)
	}
	if len(args) > 0 {
		f.operators.who = strings.Split(args[0], ",")
	}
	if !f.operators.given() && cmd.Flags().Changed("identity") {
		return errNobody
	}
	wanted, err := f.operators.rules()
	if err != nil {
		return err
	}
	installer, err := f.member.installer()
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if !f.operators.given() {
		return f.look(cmd.Context(), installer, out)
	}
	return admitOperators(cmd.Context(), installer, wanted, func(step string) { _, _ = fmt.Fprintln(out, step) })
}

// admitOperators applies rules for operators, and prints what is still to be done.
func admitOperators(ctx context.Context, installer *install.Installer, wanted rules.Rules, tell func(string)) error {
	legacy := false
	if !wanted.IsOff() {
		var err error
		if legacy, err = installer.IsLegacy(ctx); err != nil {
			return err
		}
	}
	options := operatorOptions(wanted, legacy)
	options.Said = true
	if err := installer.LetIn(ctx, options, tell); err != nil {
		return err
	}
	tell("Operators of the hub: " + wanted.Summary())
	if wanted.IsOff() {
		return nil
	}
	if legacy {
		tell("This cluster is older than Kubernetes 1.36, so only the agent enforces namespaces and what they may do; run this again once it is newer")
	}
	tell("RBAC here must allow it as well, such as by:\n\n  " + grantCommand(wanted))
	return nil
}

// grantCommand returns a command that lets the first of the admitted operators read objects here.
func grantCommand(r rules.Rules) string {
	prefix := contract.ConnectUserPrefix
	if r.Identity == rules.Same {
		prefix = ""
	}
	subject := ""
	if len(r.Groups) > 0 {
		subject = "--group=" + shellQuoted(prefix+r.Groups[0])
	} else {
		subject = "--user=" + shellQuoted(prefix+r.Users[0])
	}
	if len(r.Namespaces) > 0 {
		return "kubectl create rolebinding fairlead-operators -n " + r.Namespaces[0] + " --clusterrole=view " + subject
	}
	return "kubectl create clusterrolebinding fairlead-operators --clusterrole=view " + subject
}

// shellQuoted quotes a word for POSIX shells. Names of people and groups come from elsewhere, and inside double
// quotes a shell would still expand $(…).
func shellQuoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// look prints the rules in force.
func (f *operatorsCommand) look(ctx context.Context, installer *install.Installer, out io.Writer) error {
	if len(f.operators.may)+len(f.operators.in)+len(f.operators.groups) > 0 {
		return errNobody
	}
	data, err := installer.Operators(ctx)
	if err != nil {
		return err
	}
	r, err := rules.Of(data)
	if err != nil {
		return fmt.Errorf("reading the settings for operators: %w; set them again with `agent operators WHO`", err)
	}
	word, err := installer.OperatorsLastWord(ctx)
	if err != nil {
		return err
	}
	kept := r.Summary()
	r = r.Confirmed(data, word)
	if f.output == outputJSON {
		l := r.Lists()
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(map[string]any{"operators": l.Operators, "may": l.May, "in": l.In, "identity": l.Identity, "apiGroups": l.APIGroups, "summary": r.Summary(), "overwritten": r.Overwritten})
	}
	if r.Overwritten {
		_, err = fmt.Fprintf(out, "Operators of the hub: off, because ConfigMap %s/%s was changed by something else, such as an upgrade or a rollback with Helm, or an older version of this program; it would allow %s. "+
			"Set what should hold with `agent operators WHO` or `agent operators off`\n", contract.SystemNamespace, contract.ConnectName, kept)
		return err
	}
	if _, err = fmt.Fprintln(out, "Operators of the hub: "+r.Summary()); err != nil || r.IsOff() {
		return err
	}
	is := "They are " + contract.ConnectUserPrefix + "NAME here"
	if r.Identity == rules.Same {
		is = "Users and groups that are named have the same names here, whoever is let in only by a group is " + contract.ConnectUserPrefix + "NAME"
	}
	_, err = fmt.Fprintln(out, is+", and RBAC of this cluster must allow it as well")
	return err
}
