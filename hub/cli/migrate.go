package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sigs.k8s.io/yaml"

	"fairlead.dev/common/atomicfile"
	"fairlead.dev/hub/people/migrate"
	"fairlead.dev/hub/people/migrate/conversion"
)

// The names of the output files of a conversion.
const (
	clustersFile = "clusters.sh"
	objectsFile  = "objects.yaml"
)

// migrateFlags are the common flags of conversions.
type migrateFlags struct {
	files   []string
	output  string
	partial bool
	apply   bool
}

func newMigrate(env Environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Convert objects of another system into objects for this hub",
	}
	group(cmd)
	cmd.AddCommand(newMigrateKubeFed(env), newMigrateKarmada(env))
	return cmd
}

// add adds the flags to a command.
func (f *migrateFlags) add(flags *pflag.FlagSet, what string) {
	flags.StringArrayVarP(&f.files, "filename", "f", nil, "file or directory with "+what+", in YAML or JSON; - is the standard input")
	flags.StringVarP(&f.output, "output-dir", "o", "", "directory to write "+clustersFile+" and "+objectsFile+" into (default: all to the standard output)")
	flags.BoolVar(&f.partial, "partial", false, "convert the rest if something is refused, and leave that out")
	flags.BoolVar(&f.apply, "apply", false, "create the objects on this hub instead of printing them; objects that exist and are equal are skipped, objects that differ are refused")
}

// read reads all objects in the files.
func (f *migrateFlags) read() ([]conversion.Document, error) {
	var out []conversion.Document
	for _, name := range f.files {
		files, err := below(name)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			err := eachDocument(file, func(kind string, document []byte) error {
				obj, err := decodeObject(kind, document)
				out = append(out, conversion.Document{File: file, Object: obj})
				return err
			})
			if err != nil {
				return nil, err
			}
		}
	}
	if len(out) == 0 {
		return nil, errors.New("there is no object in the files; name a file or a directory with -f")
	}
	return out, nil
}

// below returns the YAML and JSON files in a directory tree, or the file itself.
func below(name string) ([]string, error) {
	if name == "-" {
		return []string{name}, nil
	}
	var out []string
	err := filepath.WalkDir(name, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if path == name || slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(path)) {
			out = append(out, path)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the files of -f: %w", err)
	}
	return out, nil
}

// finish prints the findings, and writes the result or applies it to a hub. It does neither if anything is refused,
// unless the rest is requested.
func (f *migrateFlags) finish(ctx context.Context, env Environment, hub hubFlags, r conversion.Result) error {
	if err := report(env, r); err != nil {
		return err
	}
	refused := r.Refused()
	if refused && !f.partial {
		return &statusError{ExitNo, "nothing is converted: correct what is refused, or leave it out with --partial"}
	}
	if err := f.write(env, r); err != nil {
		return err
	}
	if f.apply {
		if err := give(ctx, env, hub, r); err != nil {
			return err
		}
	}
	if refused {
		return &statusError{ExitNo, "what is refused is left out, and the rest is converted"}
	}
	return nil
}

// write writes the result of a conversion: to files if a directory is given, else to standard output unless it is
// applied to a hub.
func (f *migrateFlags) write(env Environment, r conversion.Result) error {
	if f.apply && f.output == "" {
		return nil
	}
	script, objects, err := encoded(r)
	if err != nil {
		return err
	}
	if f.output == "" {
		_, err = env.exact.Write(slices.Concat(commented(script), objects))
	} else {
		err = writeInto(f.output, map[string][]byte{clustersFile: append([]byte("#!/bin/sh\nset -eu\n"), script...), objectsFile: objects})
	}
	if err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	return nil
}

// progressEvery is after how many objects progress is printed.
const progressEvery = 100

// give creates the objects on a hub, and prints a line for each.
func give(ctx context.Context, env Environment, hub hubFlags, r conversion.Result) error {
	hubClient, err := hub.connect(env)
	if err != nil {
		return err
	}
	for _, hint := range r.Hints {
		say(env.Err, "%s", hint)
	}
	say(env.Err, "Comparing %d objects with what is on the hub.", len(r.Objects))
	all, err := migrate.Apply(ctx, hubClient, r.Objects, func(s migrate.Step) {
		say(env.Out, "%s", s)
		if s.Done > 0 && (s.Done%progressEvery == 0 || s.Done == s.Total) {
			say(env.Err, "%d of %d objects are on the hub.", s.Done, s.Total)
		}
	})
	if err != nil {
		return fmt.Errorf("%w; run the same command again, it goes on where this ended", err)
	}
	if !all {
		return &statusError{ExitNo, "nothing more is applied: correct what is refused on the hub, or leave it out, and run the same command again"}
	}
	return nil
}

// report prints the findings.
func report(env Environment, r conversion.Result) error {
	for _, finding := range r.Findings {
		verdict := "Note: "
		if finding.Refused {
			verdict = "Refused: "
		}
		if _, err := fmt.Fprintln(env.Err, verdict+finding.String()+"."); err != nil {
			return fmt.Errorf("writing the report: %w", err)
		}
	}
	return nil
}

// encoded returns a result as text: the commands, and the objects as YAML.
func encoded(r conversion.Result) (script, objects []byte, err error) {
	var out bytes.Buffer
	for _, hint := range r.Hints {
		fmt.Fprintf(&out, "# %s\n", hint)
	}
	for _, obj := range r.Objects {
		text, err := yaml.Marshal(obj.Object)
		if err != nil {
			return nil, nil, fmt.Errorf("encoding %s: %w", conversion.NameOf(obj), err)
		}
		out.WriteString("---\n")
		out.Write(text)
	}
	if len(r.Commands) > 0 {
		script = []byte(strings.Join(r.Commands, "\n") + "\n")
	}
	return script, out.Bytes(), nil
}

// commented turns lines into YAML comments.
func commented(lines []byte) []byte {
	var out []byte
	for line := range bytes.Lines(lines) {
		out = append(append(out, "# "...), line...)
	}
	return out
}

// writeInto writes files to a directory, which it creates if needed. Only their owner may read them, whoever may read
// the files that they replace: templates may include Secrets.
func writeInto(dir string, files map[string][]byte) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	for name, content := range files {
		if err := atomicfile.Write(filepath.Join(dir, name), content); err != nil {
			return err
		}
	}
	return nil
}
