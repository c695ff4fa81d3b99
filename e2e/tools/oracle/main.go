// Says what Helm 3 and Helm 4 make of rendered templates: standard input holds one JSON object of paths and texts a
// line, and for each comes one line with what both versions' own sorter gives.
package main

import (
	"bufio"
	"encoding/json"
	"io"
	"log"
	"log/slog"
	"os"

	util3 "helm.sh/helm/v3/pkg/releaseutil"
	util4 "helm.sh/helm/v4/pkg/release/v1/util"
)

// What a version makes of one set of templates; hooks are as its records hold them.
type reading struct {
	Error     string     `json:"error,omitempty"`
	Hooks     any        `json:"hooks"`
	Manifests []manifest `json:"manifests"`
}

type manifest struct {
	Path    string `json:"path"`
	Kind    string `json:"kind"`
	Content string `json:"content"`
}

func helm3(files map[string]string) reading {
	hooks, sorted, err := util3.SortManifests(files, nil, util3.InstallOrder)
	manifests := []manifest{}
	for _, found := range sorted {
		manifests = append(manifests, manifest{found.Name, found.Head.Kind, found.Content})
	}
	return read(hooks, manifests, err)
}

func helm4(files map[string]string) reading {
	hooks, sorted, err := util4.SortManifests(files, nil, util4.InstallOrder)
	manifests := []manifest{}
	for _, found := range sorted {
		manifests = append(manifests, manifest{found.Name, found.Head.Kind, found.Content})
	}
	return read(hooks, manifests, err)
}

func read(hooks any, manifests []manifest, err error) reading {
	if err != nil {
		return reading{Error: err.Error(), Manifests: []manifest{}}
	}
	return reading{Hooks: hooks, Manifests: manifests}
}

func main() {
	// They tell of each document that they drop.
	log.SetOutput(io.Discard)
	slog.SetDefault(slog.New(slog.DiscardHandler))
	input := json.NewDecoder(bufio.NewReader(os.Stdin))
	output := bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(output)
	for {
		var files map[string]string
		if err := input.Decode(&files); err == io.EOF {
			break
		} else if err != nil {
			log.SetOutput(os.Stderr)
			log.Fatal(err)
		}
		if err := encoder.Encode(map[string]reading{"helm3": helm3(files), "helm4": helm4(files)}); err != nil {
			os.Exit(1)
		}
		// Each question has its answer before the next one comes.
		if err := output.Flush(); err != nil {
			os.Exit(1)
		}
	}
}
