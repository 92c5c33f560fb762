package version

import (
	"runtime"
	"runtime/debug"
	"strings"
)

// Build describes the source that a program was built from.
type Build struct {
	// Version is the version of the module: a tag, or a version made of a commit.
	Version string `json:"version"`
	// Commit is the whole hash; empty if the build did not know it.
	Commit string `json:"commit,omitempty"`
	// ImageTag is the tag of the container images which `make images` makes of this build.
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

// imageTag returns the tag of the images of a version; those of none that is known are the latest.
func imageTag(version string) string {
	if version == "" || version == "(devel)" {
		return "latest"
	}
	return strings.ReplaceAll(version, "+", "-") // a tag may not have the former
}

// String is for people.
func (b Build) String() string {
	if b.Commit == "" {
		return b.Version + " " + b.GoVersion
	}
	return b.Version + " commit " + b.Commit + " " + b.GoVersion
}

// How many characters Short has, and how many of a commit.
const (
	mostVersion = 64
	mostCommit  = 12
)

// Short is the version with no more of the commit than tells it from others.
func (b Build) Short() string {
	out := b.Version
	// A version that was made of a commit names it already.
	if commit := b.Commit[:min(mostCommit, len(b.Commit))]; !strings.Contains(out, commit) {
		out += " " + commit
	}
	return out[:min(mostVersion, len(out))]
}
