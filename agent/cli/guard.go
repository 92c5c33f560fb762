package cli

import (
	"github.com/spf13/cobra"

	"k8s.io/utils/clock"

	ctrl "sigs.k8s.io/controller-runtime"

	"fairlead.dev/agent/upgrade"
	"fairlead.dev/common/logging"
)

func newGuard(env Environment) *cobra.Command {
	var member memberFlags
	var format string
	o := upgrade.GuardOptions{Clock: clock.RealClock{}}
	cmd := &cobra.Command{
		Use:   "guard",
		Short: "Upgrade the agent of this cluster as the hub requests, and roll back if it fails",
		Long: "Change the image of the Deployment that runs the agent of this cluster to the one that the hub requests, and back\n" +
			"if the hub does not hear the agent in time. `agent join --install` makes a Deployment that runs this, which the\n" +
			"agent scales up for an upgrade and which scales itself down afterwards.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := logging.New(env.Err, format, 0)
			if err != nil {
				return err
			}
			env.SetLogger(log)
			if o.Member, err = member.config(); err != nil {
				return err
			}
			return upgrade.Guard(ctrl.LoggerInto(cmd.Context(), log), o)
		},
	}
	flags := cmd.Flags()
	member.add(flags)
	flags.StringVar(&o.Deployment, "upgrade-deployment", "", "NAMESPACE/NAME of the Deployment that runs the agent; that of the guard is NAME-guard")
	flags.StringSliceVar(&o.Images, "images", nil, "repositories of which the agent may run an image, each a name or, with / at its end, all below it")
	flags.StringVar(&format, "log-format", logging.FormatText, "format of the log: text or json")
	for _, name := range []string{"upgrade-deployment", "images"} {
		_ = cmd.MarkFlagRequired(name) // it is defined above
	}
	return cmd
}
