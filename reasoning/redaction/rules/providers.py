"""Services that give out keys, in lower case: a random value beside such a name alone is one."""

from __future__ import annotations

from reasoning.redaction.values import wordset

PROVIDERS = wordset(
    """
    abbysale abstractapi abuseipdb accuweather adafruit adobe adzuna aeroworkflow agora aha airbrake airship
    airtable airvisual aiven alchemy alconost alegra aletheia algolia alibaba alienvault allsports amadeus ambee
    amplitude anthropic anypoint apacta api2cart apideck apiflash apifonica apify apilayer apimatic apimetrics
    apininjas apitemplate apollo appcues appfollow appointedd appoptics appsflyer appsynergy apptivo artifactory
    artsy asana assemblyai atera atlassian audd auth0 autodesk autoklose avazapersonalaccess aviationstack aws axiom
    axonaut aylien ayrshare azure backblaze bannerbear baremetrics baseapiio beamer beebole besnappy besttime
    betterstack billomat bingsubscription bitbar bitbucket bitcoinaverage bitfinex bitly bitlyaccess bitmex bittrex
    bitwarden blazemeter blitapp blocknative bombbomb boostnote borgbase braintree brandfetch braze brevo
    browserless browserstack browshot bscscan buddyns budibase bugherd bugsnag buildkite bulbul bulksms buttercms
    caflou calendarific calendly calorieninja campayn canny cannyio capsulecrm captaindata carboninterface cashboard
    caspio censys centralstation cerebras cexio chargebee chartmogul chatfuel chatfule checio checklyhq checkvist
    cicero circleci clarifai clearbit clerk clickhelp clicksend clickup cliengo clientary clinchpad clockify
    clockworksms closecrm cloudconvert cloudelements cloudflare cloudimage cloudinary cloudmersive cloudplan
    cloudsmith cloverly cloze clustdoc coda codacy codeclimate codecov codemagic codequiry cohere coinapi coinbase
    coinlayer coinlib coinmarketcap collect2 commercejs companyhub confluent contentful conversiontools convertapi
    convertkit convier copyscape countrylayer courier coveralls craftmypdf crossbrowsertesting crowdin crowdstrike
    cryptocompare currencycloud currencyfreaks currencylayer currencyscoop currentsapi customerguru customerio
    d7network dailyco dandelion databox databricks datadog datagov daytona debounce deepai deepgram deepl deepseek
    delighted demio deno denodeploy detectify detectlanguage dfuse diffbot diggernaut digitalocean directus discord
    disqus dnscheck dockerhub docparser docsbot documo docusign doppler dotdigital dovico dronahq droneci dropbox
    duply dwolla dynadot dynalist dynatrace dyspatch eagleeyenetworks easyinsight easypost ecostruxureit edamam
    edenai eightxeight elasticemail electricitymaps elevenlabs enablex endorlabs etherscan ethplorer etsy eventbrite
    everhour exchangerateapi exchangeratesapi exportsdk extractorapi facebook faceplusplus facepp fal fastforex
    fastly feedier fetchrss fibery figma figshare fileio finage financialmodelingprep findl finicity finnhub
    firebase firecrawl fireworks fixerio flatio fleetbase flexport flickr flightapi flightlabs flightstats flowflu
    flutterwave fmfw formbucket formcraft formio formsite foursquare frameio freshbooks freshdesk fulcrum fullstory
    fusebill fxmarket geckoboard gemini gengo geoapify geocode geocodify geocodio geoipifi getgeoapi getgist
    getresponse getsandbox ghost giphy gitea github gitlab gitter glassnode gocanvas gocardless gong goodday grafana
    graphcms graphhopper groovehq groq gtmetrix guardianapi gumroad gyazo happyscribe hasura hellosign helpcrunch
    helpscout hereapi heroku hiveage holidayapi honeybadger honeycomb hookdeck html2pdf hubspot huggingface hunter
    hybiscus hypertrack ibm iconfinder ideogram iexapis iexcloud imagekit imagga infisical infracost infura inngest
    insightly instabot instamojo intercom interseller intrinio invoiceocean ip2location ipapi ipdata ipgeolocation
    ipify ipinfo ipinfodb ipquality ipstack ironsource jenkins jfrog jina jira jiratoken jotform jumpcloud
    jumpseller juro kairos kanbantool karmacrm keenio kickbox klaviyo klipfolio knapsackpro knock kontent kraken
    kucoin kylas lakera langfuse langsmith languagelayer larksuite lastfm launchdarkly leadfeeder lemlist
    lemonsqueezy lendflow lessannoyingcrm lexigram linear linearapi linenotify linkedin linkpreview linode liveagent
    liveblocks livestorm loadmill lob localizely locationiq loggly loginradius logz logzio lokalise loopaas loyverse
    lunchmoney luno m3o madkudu magicbell mailboxlayer mailchimp mailerlite mailgun mailjet mailmodo mailsac
    mandrill mapbox mapillary mapquest marketstack mattermost mavenlink maxmind meaningcloud mediastack meistertask
    meraki mesibo messagebird metaapi metabase metrilo microsoftteams mindmeister miro mistral mite mixmax mixpanel
    mockaroo modal monkeylearn moonclerk moosend moralis mrticktock mux myfreshworks myintervals nasdaqdatalink
    netbox nethunt netlify netsuite neutrinoapi newrelic newsapi newscatcher nexmo nftport ngrok nicereply nightfall
    nomics notion novu nozbe npm nugetapi nugetapikey numverify nutritionix nvapi nvidia nylas nytimes oanda okta
    omnisend onedesk onelogin onepagecrm onesignal onwater oopspam openai opencage opencagedata opengraphr
    openrouter openuv openweather openweathermap opsgenie optimizely overloop owlbot oxylabs packagecloud paddle
    pagarme pagerduty pandadoc pandascore paperform paralleldots parsehub parseur partnerstack passbase pastebin
    paydirt paymo paymongo paypal paystack pdflayer pdfshift pendo peopledatalabs pepipost percy perplexity
    photoroom pinata pinecone pipedream pipedrive pivotaltracker pixabay plaid planetscale planviewleankit planyo
    plivo podio pollsapi poloniex polygon portainer portkey positionstack postageapi postageapp postbacks posthog
    postman postmark powrbot prefect prodpad propublica prospectcrm protocolsio proxycrawl proxyscrape pubnub pulumi
    purestake pushbullet pusher pusherchannel pypi qase qualaroo qubole quickbase quickmetrics railway rapidapi rawg
    razorpay reachmail readme reallysimplesystems rebrandly rechargepayments refiner rentman repairshopr replicate
    resend restpack revampcrm ringcentral ritekit roaring robinhood rocketreach rollbar roninapp rootly route4me
    rownd rubygems runpod runrunit salesblink salescookie salesflare salesforce salesloft salesmate samsara
    satismeter saucelabs scalewaykey scalingo scalr scrapeowl scraperapi scraperbox scrapersite scrapestack scrapfly
    scrapingant scrapingbee screenshotapi screenshotlayer scrutinizer scrutinizerci securitytrails segment selectpdf
    semaphore sendbird sendgrid sendinblue sentry serpapi serper serphouse serpstack sheety sherpadesk shipday
    shippo shodan shopify shotstack shutterstock signable signalwire signaturit signupgenius sigopt simfin simplesat
    simplynoted simvoly sinchmessage sirv siteleaf skrapp skybiometry slack smartsheet smartystreets smooch snipcart
    snowflake snyk sonarcloud sonarqube sourcegraph sparkpost speechtext splunk spoonacular sportradar sportsmonk
    spotify squarespace squareup sslmate stability stackblitz stackhawk statuscake statuspage statuspal stitchdata
    stockdata storecove stormboard stormglass storyblok storychief strava stripe stripo stytch sugester sumologic
    supabase supernotes surveyanyplace surveybot surveymonkey surveysparrow survicate swiftype tailscale tallyfy
    tatum tavily taxjar teamgate teamwork technicalanalysis tefter telegram teletype telnyx terraform testingbot
    text2data textmagic theoddsapi thinkific thousandeyes ticketmaster tickettailor tigris tiingo timecamp
    timezoneapi tineswebhook tinify tly tmetric todoist together toggltrack tokeet tomorrowio tomtom tradier
    transferwise travelpayouts travis travisci trello tru turso twelvedata twilio twitch twitter tyntec typeform
    typetalk ubidots uclassify unifyid unplugg unsplash uplead uploadcare upstash uptimerobot upwave urlscan
    userflow userstack vagrantcloud vapi vatlayer vbout vercel verimail veriphone versioneye viewneo vimeo
    virustotal visualcrossing voicegain voodoosms vouchery voyage vpnapi vultr vyte wakatime walkscore wandb
    weatherapi weatherbit weatherstack web3storage webex webflow webscraper webscraping websitepulse wepay whoxy
    wistia wiz wordpress workos worksnaps workstack worldcoinindex worldweather wrike xai xata yandex yelp
    youneedabudget yousign youtube zapier zapierwebhook zendesk zenkit zenrows zenscrape zenserp zeplin zerobounce
    zerotier zipapi zipbooks zipcodeapi zoho zonka zonkafeedback zoom zulip zulipchat
    """
)
