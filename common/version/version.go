package version

import (
	"runtime"
	"runtime/debug"
	"strings"
)

// Build describes the source that a program was built from.
type Build struct {
	// Version is the version of the module: a tag, or a version made from a commit.
	Version string `json:"version"`
	// Commit is the full hash; empty if the build did not record it.
	Commit string `json:"commit,omitempty"`
	// ImageTag is the tag of the container images that `make images` makes from this build.
	ImageTag  string `json:"imageTag"`
	GoVersion string `json:"goVersion"`
	Platform  string `json:"platform"`
}

// Of returns what the running program was built from.
func Of() Build {
	out := Build{Version: "unknown", ImageTag: imageTag(""), GoVersion: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return out
	}
	out.Version, out.ImageTag = info.Main.Version, imageTag(info.Main.Version)
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			out.Commit = s.Value
		}
	}
	return out
}

// imageTag returns the image tag for a version; latest if the version is unknown.
func imageTag(version string) string {
	if version == "" || version == "(devel)" {
		return "latest"
	}
	return strings.ReplaceAll(version, "+", "-") // tags may not contain a plus sign
}

// String formats the build for people.
func (b Build) String() string {
	if b.Commit == "" {
		return b.Version + " " + b.GoVersion
	}
	return b.Version + " commit " + b.Commit + " " + b.GoVersion
}

// Maximum lengths in Short, in total and of the commit.
const (
	mostVersion = 64
	mostCommit  = 12
)

// Short returns the version with an abbreviated commit.
func (b Build) Short() string {
	out := b.Version
	// A version made from a commit already contains it.
	if commit := b.Commit[:min(mostCommit, len(b.Commit))]; !strings.Contains(out, commit) {
		out += " " + commit
	}
	return out[:min(mostVersion, len(out))]
}
