package cli

import (
	"github.com/spf13/cobra"
)

func newEncryption(env Environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "encryption",
		Short: "Show or rotate the key that encrypts the database of a hub's own API",
		Long: "Secrets, ConfigMaps, Works and override policies are encrypted in the database of a hub's own API, with a key that the\n" +
			"hub makes in its data directory (encryption/keys.json) and that is part of its backups. With --encryption-provider-config\n" +
			"of `hub serve` a provider of yours encrypts them instead, such as a KMS.\n\n" +
			"  hub encryption rotate    makes a new key\n" +
			"  hub encryption status    shows which key encrypts, and what to do next\n\n" +
			"Restart `hub serve` after a rotation: before its API is up it encrypts everything with the new key, drops the old one, and\n" +
			"leaves nothing of before in the database.",
	}
	cmd.AddCommand(
		newEncryptionCommand(env, "status", "Show which key encrypts the database, and what to do next"),
		newEncryptionCommand(env, "rotate", "Make a new key, with which everything is encrypted when `hub serve` is started again"))
	group(cmd)
	return cmd
}

func newEncryptionCommand(env Environment, what, short string) *cobra.Command {
	var store storeFlags
	cmd := &cobra.Command{
		Use: what, Short: short, Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return store.run(cmd.Context(), env, stream{out: env.Out}, "encryption", what)
		},
	}
	store.add(cmd)
	return cmd
}
