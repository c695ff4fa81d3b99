// The same by the command line.

/**
 * @param {Record<string, string | boolean>} request
 * @returns {{renders: string[], commands: string[]}} what makes the texts, and what judges them
 */
export function commandsOf(request) {
  const settings = request.settings.trim() === "" ? "" : " --settings settings.yaml";
  if (request.door === "manifest") {
    const complete = request.completeEvents ? " --complete-events" : "";
    const commands = [`stable-hooks fix manifest.yaml${complete}${settings}`, `stable-hooks review manifest.yaml${settings}`];
    return { renders: [], commands };
  }
  if (request.door === "review") {
    const file = /^\s*[{[]/.test(request.review.slice(0, 1000)) ? "review.json" : "review.yaml";
    return { renders: [], commands: [`stable-hooks review ${file} --policy annotated-policy.wasm${settings}`] };
  }
  const texts = `--install install.yaml --upgrade upgrade.yaml${request.argocd ? " --argocd" : ""}${settings}`;
  // Argo CD renders as helm template does, and its next sync is that of the next commit.
  const renders = request.argocd
    ? ["helm template orders ./chart-before >install.yaml", "helm template orders ./chart-after >upgrade.yaml"]
    : ["helm template orders ./chart >install.yaml", "helm template orders ./chart --is-upgrade >upgrade.yaml"];
  return { renders, commands: [`stable-hooks chart ${texts}`, `stable-hooks timeline ${texts} -o svg >timeline.svg`] };
}
