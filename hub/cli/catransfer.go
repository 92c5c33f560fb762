package cli

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"fairlead.dev/hub/machinery/apiserver"
)

func newCAExport(env Environment) *cobra.Command {
	var dataDir string
	cmd := &cobra.Command{
		Use:               "export FILE",
		ValidArgsFunction: files,
		Short:             "Export the authorities and keys of this hub to a file, for another machine",
		Long: "Write the certificate authorities of this hub, its key of service accounts and the keys that encrypt its database to a\n" +
			"file. Another machine on the same etcd (--etcd-servers) is a hub of the same fleet once it has imported that. Whoever has\n" +
			"the file can impersonate the hub: only its owner may read it. Copy it over a connection that nobody else reads, such as scp, and\n" +
			"remove it afterwards.",
		Example: "  hub ca export hub.authority && scp -p hub.authority hub-2: && rm hub.authority",
		Args:    oneFile,
		RunE: func(_ *cobra.Command, files []string) error {
			from, err := apiserver.OpenAuthorities(dataDir)
			if err != nil {
				return err
			}
			defer func() { _ = from.Close() }()
			exported, err := from.Export(env.Clock.Now())
			if err != nil {
				return err
			}
			if err := exported.Write(files[0]); err != nil {
				return err
			}
			say(env.Out, "%s\n\nOn the other machine: hub ca import %s", exported.Describe(), filepath.Base(files[0]))
			return nil
		},
	}
	cmd.Flags().StringVar(&dataDir, "data-dir", defaultDataDir, "data directory of the hub on this machine")
	completeDirectories(cmd, "data-dir")
	return cmd
}

func newCAImport(env Environment) *cobra.Command {
	var dataDir string
	var replace bool
	cmd := &cobra.Command{
		Use:               "import FILE",
		ValidArgsFunction: files,
		Short:             "Import the authorities and keys of a hub on another machine, to work on the same etcd",
		Long: "Take over what `hub ca export` wrote on another machine, before `hub serve --etcd-servers` is started here. A file that\n" +
			"others than its owner may read is refused. After the keys or the authority of a hub were exchanged, import them again on\n" +
			"all other machines, with --replace, while `hub serve` is stopped there.",
		Example: "  hub ca import hub.authority && rm hub.authority",
		Args:    oneFile,
		RunE: func(cmd *cobra.Command, files []string) error {
			transfer, err := apiserver.ReadTransfer(files[0])
			if err != nil {
				return err
			}
			imported, err := apiserver.Import(cmd.Context(), transfer, dataDir, replace)
			if err != nil {
				return err
			}
			say(env.Out, "%s\n", transfer.Describe())
			if !imported {
				say(env.Out, "Nothing to do: %s has it already.", dataDir)
				return nil
			}
			say(env.Out, "%s has it now. Start `hub serve --data-dir %s --etcd-servers …`, and remove %s.", dataDir, dataDir, files[0])
			return nil
		},
	}
	cmd.Flags().StringVar(&dataDir, "data-dir", defaultDataDir, "data directory of the hub on this machine; made where it does not exist")
	completeDirectories(cmd, "data-dir")
	cmd.Flags().BoolVar(&replace, "replace", false, "replace the authority that the data directory has")
	return cmd
}
